#include <cmath>

#include <gtest/gtest.h>

#include "diml/error.h"
#include "diml/metrics.h"

namespace diml {
namespace {

// 400 queries of which 100 are right: the mean is 0.25, its standard error 0.0217.
std::vector<double> quarter() {
  std::vector<double> values(400);
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = k % 4 == 0 ? 1.0 : 0.0;
  return values;
}

TEST(Bootstrap, AnIntervalIsAboutTwoStandardErrorsToEachSide) {
  const Interval interval = bootstrap_means(quarter(), 1)[0];
  const double error = std::sqrt(0.25 * 0.75 / 400.0);
  EXPECT_NEAR(interval.low, 0.25 - 1.96 * error, 0.3 * error);
  EXPECT_NEAR(interval.high, 0.25 + 1.96 * error, 0.3 * error);
  const Interval narrow = bootstrap_means(quarter(), 1, {.level = 0.5})[0];
  EXPECT_NEAR(narrow.high, 0.25 + 0.674 * error, 0.3 * error);
}

// Two columns that move together: their difference is certain although each of them is not.
TEST(Bootstrap, RowsAreDrawnAsAWholeSoThatDifferencesArePaired) {
  std::vector<double> rows;
  for (const double value : quarter()) rows.insert(rows.end(), {value, value + 0.125, 0.125});
  const std::vector<Interval> intervals = bootstrap_means(rows, 3);
  EXPECT_DOUBLE_EQ(intervals[1].low - intervals[0].low, 0.125);
  EXPECT_DOUBLE_EQ(intervals[2].low, 0.125);
  EXPECT_DOUBLE_EQ(intervals[2].high, 0.125);
}

TEST(Bootstrap, DependsOnTheSeedAndNotOnTheThreads) {
  const auto ends = [](const BootstrapParams& params) {
    const Interval interval = bootstrap_means(quarter(), 1, params)[0];
    return std::pair(interval.low, interval.high);
  };
  EXPECT_EQ(ends({.seed = 3, .threads = 1}), ends({.seed = 3, .threads = 3}));
  EXPECT_NE(ends({.resamples = 99, .seed = 3}), ends({.resamples = 99, .seed = 4}));
}

TEST(Bootstrap, RefusesWhatHasNoRows) {
  EXPECT_THROW(bootstrap_means({}, 1), Error);
  EXPECT_THROW(bootstrap_means(quarter(), 3), Error);
  EXPECT_THROW(bootstrap_means(quarter(), 1, {.resamples = 0}), Error);
  EXPECT_THROW(bootstrap_means(quarter(), 1, {.level = 1.0}), Error);
}

}  // namespace
}  // namespace diml
