#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "environment.h"
#include "records.h"

namespace diml::gallery {

// Writes a gallery whose ids and numbers are given, in the newest format, into an empty folder.
// Nobody may see that folder before finish() has returned.
class GalleryWriter {
 public:
  // description: of which the version is not used.
  GalleryWriter(const std::string& folder, const Description& description);

  // In the order of the ids.
  void add(std::int64_t id, const ItemRecord& item, const GlobalRecord& global);
  // In the order of the revisions.
  void add_change(std::uint64_t revision, std::span<const std::int64_t> numbers);
  void finish(std::uint64_t revision, std::uint64_t next_id);

 private:
  void wrote(std::size_t bytes);

  std::shared_ptr<Environment> environment_;
  std::unique_ptr<Transaction> transaction_;
  std::size_t written_ = 0;  // bytes of the open transaction
};

}  // namespace diml::gallery
