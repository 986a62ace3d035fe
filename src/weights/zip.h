#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "checked.h"

namespace diml::weights {

// The files in a zip archive in memory, as torch writes them: stored, not compressed. zip64 too.
// Checksums are not verified: torch does not verify them either, and can omit them.
class Zip {
 public:
  explicit Zip(Bytes archive);

  bool contains(const std::string& name) const { return entries_.contains(name); }
  Bytes file(const std::string& name) const;  // throws if there is none or it is compressed
  std::vector<std::string> names() const;

 private:
  struct Entry {
    std::uint64_t header = 0;  // where its local header starts
    std::uint64_t bytes = 0;
    bool stored = true;
  };
  struct Directory {
    std::uint64_t at = 0;
    std::uint64_t bytes = 0;
    std::uint64_t entries = 0;
  };

  Directory find_directory() const;
  std::uint64_t read_entry(Bytes directory, std::uint64_t at);

  Bytes archive_;
  std::map<std::string, Entry> entries_;
};

}  // namespace diml::weights
