#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace diml {

// A set of ids that only grows. Copies share their runs, and runs double: an id is copied a
// logarithmic number of times at most, however few are added at a time.
class IdRuns {
 public:
  // ids: ascending, none of them in the set.
  void add(std::vector<std::int64_t> ids) {
    if (ids.empty()) return;
    size_ += ids.size();
    while (!runs_.empty() && runs_.back()->size() <= ids.size()) {
      std::vector<std::int64_t> both(runs_.back()->size() + ids.size());
      std::merge(runs_.back()->begin(), runs_.back()->end(), ids.begin(), ids.end(), both.begin());
      ids = std::move(both);
      runs_.pop_back();
    }
    runs_.push_back(std::make_shared<const std::vector<std::int64_t>>(std::move(ids)));
  }

  bool contains(std::int64_t id) const {
    return std::any_of(runs_.begin(), runs_.end(), [id](const auto& run) {
      return std::binary_search(run->begin(), run->end(), id);
    });
  }

  std::size_t size() const { return size_; }

 private:
  std::vector<std::shared_ptr<const std::vector<std::int64_t>>> runs_;  // each ascending
  std::size_t size_ = 0;
};

}  // namespace diml
