#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace diml::explained {

// Labels in a column: each as near to its wanted position as its neighbours allow, `pitch` apart,
// between `low` and `high`. If they do not fit at that pitch, they are spaced more closely.
inline std::vector<double> label_places(const std::vector<double>& wanted, double pitch, double low,
                                        double high) {
  const std::size_t count = wanted.size();
  if (count > 1) pitch = std::min(pitch, (high - low) / static_cast<double>(count - 1));
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return wanted[x] < wanted[y]; });
  // Runs of touching labels; a run starts at the mean of the starts that its labels want.
  struct RunOfLabels {
    double begin;
    std::size_t count;
  };
  std::vector<RunOfLabels> runs;
  const auto within = [&](RunOfLabels run) {
    const double last = high - pitch * static_cast<double>(run.count - 1);
    run.begin = std::max(low, std::min(run.begin, last));
    return run;
  };
  for (const std::size_t k : order) {
    RunOfLabels run = within({wanted[k], 1});
    while (!runs.empty() &&
           runs.back().begin + pitch * static_cast<double>(runs.back().count) > run.begin) {
      const RunOfLabels& before = runs.back();
      const auto first = static_cast<double>(before.count);
      const auto second = static_cast<double>(run.count);
      run =
          within({(before.begin * first + (run.begin - pitch * first) * second) / (first + second),
                  before.count + run.count});
      runs.pop_back();
    }
    runs.push_back(run);
  }
  std::vector<double> places(count);
  std::size_t next = 0;
  for (const RunOfLabels& run : runs) {
    for (std::size_t k = 0; k < run.count; ++k) {
      places[order[next++]] = run.begin + pitch * static_cast<double>(k);
    }
  }
  return places;
}

}  // namespace diml::explained
