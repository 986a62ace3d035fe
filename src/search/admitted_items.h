#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "diml/searcher.h"

namespace diml {

// The items that filters admit. The lists of the latest filters are kept, each with its revision: a
// later revision reads what has changed since, not all metadata again. Safe from several threads.
class AdmittedItems {
 public:
  // Ascending. Null where another thread has brought the list past this snapshot: take a new one.
  // Cancelled between two items.
  IdList of(const Filter& filter, const GridSnapshot& snapshot, const Progress& progress = {});

 private:
  struct Kept {
    std::string key;  // of the filter
    std::uint64_t revision = 0;
    IdList ids;
  };
  std::optional<Kept> kept(const std::string& key) const;
  void keep(Kept newest);

  mutable std::mutex mutex_;
  std::vector<Kept> kept_;  // the latest last
};

}  // namespace diml
