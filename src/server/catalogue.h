#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "diml/grid_store.h"

namespace diml::server {

// The ids of a store by label, for lists. Taking in a change costs what the change costs.
class Catalogue {
 public:
  struct Page {
    std::size_t total = 0;  // of this label
    std::vector<std::int64_t> ids;
  };
  // How many there are of each label, ascending.
  std::vector<std::pair<std::int64_t, std::size_t>> labels(const GridSnapshot& snapshot);

  // The ids of the snapshot, ascending; of one label where that is given.
  Page page(const GridSnapshot& snapshot, std::optional<std::int64_t> label, std::size_t offset,
            std::size_t limit);

 private:
  void bring_to(const GridSnapshot& snapshot);
  void remove(std::int64_t id);

  std::mutex mutex_;  // of what follows
  std::optional<std::uint64_t> revision_;
  std::vector<std::int64_t> ids_;                               // ascending
  std::vector<std::int64_t> labels_;                            // [ids_]
  std::map<std::int64_t, std::vector<std::int64_t>> by_label_;  // ids ascending
};

}  // namespace diml::server
