#include "regions.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace diml::explained {
namespace {

// Of what a group of source cells contributes, the least that its target side receives.
constexpr double kReceived = 0.85;

// Source cells, and what they contribute to each target cell. Cells that contribute less than
// nothing count as 0 here: they decide about no group.
struct Group {
  std::vector<std::size_t> cells;
  std::vector<double> received;  // [R_t]
  double total = 0.0;
  std::set<std::size_t> beside;  // groups that touch it by a side, by their numbers
};

// total x entropy of where it goes.
double uncertainty(const std::vector<double>& received, double total) {
  double sum = 0.0;
  for (const double part : received) {
    if (part > 0.0) sum -= part * std::log(part / total);
  }
  return sum;
}

// What is no longer known about where the mass goes when two groups become one: their weighted
// Jensen-Shannon divergence.
double loss_of(const Group& a, const Group& b) {
  std::vector<double> both(a.received.size());
  std::transform(a.received.begin(), a.received.end(), b.received.begin(), both.begin(),
                 std::plus<>());
  return uncertainty(both, a.total + b.total) - uncertainty(a.received, a.total) -
         uncertainty(b.received, b.total);
}

class Groups {
 public:
  explicit Groups(const Explanation& why) {
    const std::size_t cols = why.target.count();
    for (std::size_t i = 0; i < why.source.count(); ++i) {
      Group group{{i}, std::vector<double>(cols), 0.0, {}};
      for (std::size_t j = 0; j < cols; ++j) {
        group.received[j] = std::max(0.0, why.contribution(i, j));
        group.total += group.received[j];
      }
      if (group.total > 0.0) groups_.emplace(i, std::move(group));
    }
    for (auto& [i, group] : groups_) {
      const std::size_t right = i + 1;
      const std::size_t below = i + why.source.cols;
      if (right % why.source.cols != 0) touch(i, right);
      touch(i, below);
    }
  }

  void join_until(std::size_t most) {
    while (groups_.size() > most && !losses_.empty()) {
      // The least loss; ties go to the first cells.
      const auto least =
          std::min_element(losses_.begin(), losses_.end(),
                           [](const auto& x, const auto& y) { return x.second < y.second; });
      join(least->first.first, least->first.second);
    }
  }

  const std::map<std::size_t, Group>& all() const { return groups_; }

 private:
  void touch(std::size_t a, std::size_t b) {
    const auto other = groups_.find(b);
    if (other == groups_.end()) return;
    groups_.at(a).beside.insert(b);
    other->second.beside.insert(a);
    losses_[{a, b}] = loss_of(groups_.at(a), other->second);
  }

  void join(std::size_t a, std::size_t b) {
    Group gone = std::move(groups_.at(b));
    groups_.erase(b);
    for (const std::size_t other : gone.beside) losses_.erase(std::minmax(b, other));
    Group& kept = groups_.at(a);
    kept.cells.insert(kept.cells.end(), gone.cells.begin(), gone.cells.end());
    for (std::size_t j = 0; j < kept.received.size(); ++j) kept.received[j] += gone.received[j];
    kept.total += gone.total;
    kept.beside.insert(gone.beside.begin(), gone.beside.end());
    kept.beside.erase(a);
    kept.beside.erase(b);
    for (const std::size_t other : kept.beside) {
      Group& neighbour = groups_.at(other);
      neighbour.beside.erase(b);
      neighbour.beside.insert(a);
      losses_[std::minmax(a, other)] = loss_of(kept, neighbour);
    }
  }

  std::map<std::size_t, Group> groups_;                           // by the first of their cells
  std::map<std::pair<std::size_t, std::size_t>, double> losses_;  // of groups that touch
};

// Grows from the cell that receives most, each time by the best cell that touches what is there, by
// a side or a corner.
std::vector<std::size_t> receiving(const Group& group, GridShape shape) {
  const std::vector<double>& received = group.received;
  std::vector<bool> inside(received.size(), false);
  std::vector<bool> touched(received.size(), false);
  std::vector<std::size_t> cells;
  double sum = 0.0;
  const auto take = [&](std::size_t cell) {
    inside[cell] = true;
    cells.push_back(cell);
    sum += received[cell];
    const std::size_t row = cell / shape.cols;
    const std::size_t col = cell % shape.cols;
    for (std::size_t r = row - (row > 0 ? 1 : 0); r <= std::min(row + 1, shape.rows - 1); ++r) {
      for (std::size_t c = col - (col > 0 ? 1 : 0); c <= std::min(col + 1, shape.cols - 1); ++c) {
        touched[r * shape.cols + c] = true;
      }
    }
  };
  take(static_cast<std::size_t>(std::max_element(received.begin(), received.end()) -
                                received.begin()));
  while (sum < kReceived * group.total && cells.size() < received.size()) {
    std::size_t best = received.size();
    for (std::size_t j = 0; j < received.size(); ++j) {
      if (!touched[j] || inside[j]) continue;
      if (best == received.size() || received[j] > received[best]) best = j;
    }
    take(best);
  }
  std::sort(cells.begin(), cells.end());
  return cells;
}

Region region_of(const Explanation& why, const Group& group) {
  Region region{.source = group.cells, .target = receiving(group, why.target)};
  std::sort(region.source.begin(), region.source.end());
  for (const std::size_t i : region.source) {
    for (const std::size_t j : region.target) {
      region.mass += why.plan[i * why.target.count() + j];
      region.contribution += why.contribution(i, j);
    }
  }
  if (region.mass > 0.0) region.similarity = region.contribution / region.mass;
  if (why.score != 0.0) region.share = region.contribution / why.score;
  return region;
}

}  // namespace

void find_regions(Explanation& explanation) {
  Groups groups(explanation);
  groups.join_until(kMostRegions);
  explanation.regions.clear();
  explanation.scattered = explanation.score;
  for (const auto& [first, group] : groups.all()) {
    explanation.regions.push_back(region_of(explanation, group));
    explanation.scattered -= explanation.regions.back().contribution;
  }
  std::stable_sort(
      explanation.regions.begin(), explanation.regions.end(),
      [](const Region& x, const Region& y) { return x.contribution > y.contribution; });
}

}  // namespace diml::explained
