#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/label_words.h"
#include "diml/grid_store.h"

namespace diml::server {

// The ids of a store by label, for lists. The cost of an update depends on the size of the change.
class Catalogue {
 public:
  struct Page {
    std::size_t total = 0;  // of this label
    std::vector<std::int64_t> ids;
  };
  // The number of items of each label in LabelOrder; "" for those without one.
  std::vector<std::pair<std::string, std::size_t>> labels(const GridSnapshot& snapshot);

  // The ids of the snapshot, ascending; if a label is given, those of the label.
  Page page(const GridSnapshot& snapshot, const std::optional<std::string>& label,
            std::size_t offset, std::size_t limit);

 private:
  void bring_to(const GridSnapshot& snapshot);
  void remove(std::int64_t id);
  void relabel(std::int64_t id, const std::string& label);

  std::mutex mutex_;  // guards the members below
  std::optional<std::uint64_t> revision_;
  using Groups = std::map<std::string, std::vector<std::int64_t>, LabelOrder>;
  std::vector<std::int64_t> ids_;        // ascending
  std::vector<Groups::pointer> labels_;  // [ids_]: entries of by_label_
  Groups by_label_;                      // ids ascending
};

}  // namespace diml::server
