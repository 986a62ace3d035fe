#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "base/threads.h"
#include "diml/error.h"
#include "diml/metrics.h"

namespace diml {
namespace {

constexpr std::uint64_t kStream = 0xb007;  // apart from other uses of the same seed

constexpr std::size_t kAtOnce = 64;  // resamples between two reports of progress

// Between the two nearest of the sorted values, as numpy.quantile does.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

// The sums of as many rows as there are, drawn with replacement.
void draw(std::span<const double> values, std::size_t columns, std::uint64_t seed,
          std::span<double> sums) {
  const std::size_t rows = values.size() / columns;
  Random random(seed);
  for (std::size_t k = 0; k < rows; ++k) {
    const auto row = static_cast<std::size_t>(((random.next() >> 32) * rows) >> 32);
    const double* drawn = &values[row * columns];
    for (std::size_t c = 0; c < columns; ++c) sums[c] += drawn[c];
  }
}

}  // namespace

std::vector<Interval> bootstrap_means(std::span<const double> values, std::size_t columns,
                                      const BootstrapParams& params, const Progress& progress) {
  if (columns == 0 || values.empty() || values.size() % columns != 0) {
    throw Error("a bootstrap needs at least one row, and rows of the same length");
  }
  const std::size_t rows = values.size() / columns;
  if (rows > 0xffffffffu) throw Error("a bootstrap takes at most 4294967295 rows");
  if (params.resamples == 0 || !(params.level > 0.0 && params.level < 1.0)) {
    throw Error("a bootstrap needs at least one resample, and a level between 0 and 1");
  }
  std::vector<double> means(params.resamples * columns);
  for (std::size_t first = 0; first < params.resamples; first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, params.resamples - first);
    parallel_for(count, 16, params.threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = first + begin; k < first + end; ++k) {
        const std::span<double> of_resample = std::span(means).subspan(k * columns, columns);
        draw(values, columns, mixed_seed(params.seed, kStream, k), of_resample);
        for (double& sum : of_resample) sum /= static_cast<double>(rows);
      }
    });
    progress(first + count, params.resamples);
  }
  std::vector<Interval> intervals;
  std::vector<double> sorted(params.resamples);
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t k = 0; k < params.resamples; ++k) sorted[k] = means[k * columns + c];
    std::sort(sorted.begin(), sorted.end());
    const double outside = (1.0 - params.level) / 2.0;
    intervals.push_back({quantile(sorted, outside), quantile(sorted, 1.0 - outside)});
  }
  return intervals;
}

}  // namespace diml
