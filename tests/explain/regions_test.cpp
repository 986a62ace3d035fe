#include "explain/regions.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "explain/region_truth.h"
#include "placed_grid.h"
#include "random_grid.h"

namespace diml {
namespace {

constexpr AffineMap kSame = {1, 0, 0, 0, 1, 0};
constexpr AffineMap kMirrored = {-1, 0, 0, 0, 1, 0};

// Whether one can go from cell to cell; corners: also over a corner.
bool is_connected(const std::vector<std::size_t>& cells, GridShape shape, bool corners) {
  std::set<std::size_t> left(cells.begin(), cells.end());
  std::vector<std::size_t> open = {cells.front()};
  left.erase(cells.front());
  while (!open.empty()) {
    const std::size_t cell = open.back();
    open.pop_back();
    for (auto other = left.begin(); other != left.end();) {
      const auto apart = [](std::size_t a, std::size_t b) { return a > b ? a - b : b - a; };
      const std::size_t rows = apart(cell / shape.cols, *other / shape.cols);
      const std::size_t cols = apart(cell % shape.cols, *other % shape.cols);
      if (corners ? std::max(rows, cols) <= 1 : rows + cols <= 1) {
        open.push_back(*other);
        other = left.erase(other);
      } else {
        ++other;
      }
    }
  }
  return left.empty();
}

Explanation moved_scene(GridShape source, GridShape target, const AffineMap& map) {
  return explain(test::placed_grid(source, 64, kSame, 1, 0.4, 6.0),
                 test::placed_grid(target, 64, map, 2, 0.4, 6.0), {}, source, target);
}

void expect_well_formed(const Explanation& why) {
  ASSERT_FALSE(why.regions.empty());
  EXPECT_LE(why.regions.size(), explained::kMostRegions);
  std::set<std::size_t> seen;
  double sum = why.scattered;
  for (const Region& region : why.regions) {
    EXPECT_TRUE(is_connected(region.source, why.source, false));
    EXPECT_TRUE(is_connected(region.target, why.target, true));
    double mass = 0.0;
    double contribution = 0.0;
    for (const std::size_t i : region.source) {
      EXPECT_TRUE(seen.insert(i).second) << "cell " << i << " is in two regions";
      for (const std::size_t j : region.target) {
        mass += why.plan[i * why.target.count() + j];
        contribution += why.contribution(i, j);
      }
    }
    EXPECT_NEAR(region.mass, mass, 1e-12);
    EXPECT_NEAR(region.contribution, contribution, 1e-12);
    EXPECT_NEAR(region.similarity * region.mass, contribution, 1e-12);
    EXPECT_NEAR(region.share * why.score, contribution, 1e-12);
    sum += region.contribution;
  }
  EXPECT_NEAR(sum, why.score, 1e-9);
  EXPECT_TRUE(std::is_sorted(
      why.regions.begin(), why.regions.end(),
      [](const Region& x, const Region& y) { return x.contribution > y.contribution; }));
}

TEST(Regions, AreConnectedDisjointInTheSourceAndSumToTheScore) {
  expect_well_formed(moved_scene({7, 7}, {7, 7}, kMirrored));
  expect_well_formed(moved_scene({3, 5}, {2, 4}, kSame));
  expect_well_formed(moved_scene({1, 1}, {4, 4}, kSame));
  expect_well_formed(explain(test::random_grid(15, 24, 1), test::random_grid(8, 24, 2)));
}

TEST(Regions, SixOfThemHoldMostOfTheScore) {
  const Explanation why = moved_scene({7, 7}, {7, 7}, kMirrored);
  EXPECT_EQ(why.regions.size(), explained::kMostRegions);
  double share = 0.0;
  for (const Region& region : why.regions) share += region.share;
  EXPECT_GT(share, 0.8);
}

TEST(Regions, WhatMovesTogetherStaysTogether) {
  // The upper half of the source is the lower half of the target, and the other way round.
  std::vector<float> upper = test::random_cells(1, 32, 1);
  std::vector<float> lower = test::random_cells(1, 32, 2);
  std::vector<float> source;
  std::vector<float> target;
  for (int k = 0; k < 16; ++k) {
    const std::vector<float>& here = k < 8 ? upper : lower;
    const std::vector<float>& there = k < 8 ? lower : upper;
    source.insert(source.end(), here.begin(), here.end());
    target.insert(target.end(), there.begin(), there.end());
  }
  MatchParams sharp;
  sharp.transport.lambda = 0.02;
  const Explanation why = explain(EmbeddingGrid(source, 32), EmbeddingGrid(target, 32), sharp);
  expect_well_formed(why);
  for (const Region& region : why.regions) {
    const bool from_upper = region.source.front() < 8;
    for (const std::size_t i : region.source) EXPECT_EQ(i < 8, from_upper);
    for (const std::size_t j : region.target) EXPECT_EQ(j >= 8, from_upper);
  }
}

TEST(Regions, TheTargetSideFollowsAMirrorImage) {
  const Explanation why = moved_scene({7, 7}, {7, 7}, kMirrored);
  const auto column = [](const std::vector<std::size_t>& cells) {
    double sum = 0.0;
    for (const std::size_t cell : cells) sum += static_cast<double>(cell % 7);
    return sum / static_cast<double>(cells.size());
  };
  for (const Region& region : why.regions) {
    EXPECT_NEAR(column(region.source) + column(region.target), 6.0, 1.5);
  }
}

TEST(Regions, CellsWithoutMassAreInNone) {
  // The second cell points away from the target: it has no weight.
  const EmbeddingGrid source(std::vector<float>{1, 0, -1, 0, 1, 0.1F, 1, -0.1F}, 2);
  const EmbeddingGrid target(std::vector<float>{1, 0, 1, 0.2F, 1, -0.2F, 1, 0}, 2);
  const Explanation why = explain(source, target);
  ASSERT_EQ(why.source_marginal[1], 0.0);
  for (const Region& region : why.regions) {
    EXPECT_FALSE(std::binary_search(region.source.begin(), region.source.end(), 1U));
  }
  expect_well_formed(why);
}

TEST(Regions, AreJudgedByAnnotatedParts) {
  GridSet grids(2, 49, 64);
  grids.put(0, test::placed_grid({7, 7}, 64, kSame, 1, 0.2, 6.0));
  grids.put(1, test::placed_grid({7, 7}, 64, kMirrored, 2, 0.2, 6.0));
  std::vector<std::vector<PartCell>> parts(2);
  for (std::size_t part = 0; part < 49; ++part) {
    parts[0].push_back({part, part});
    parts[1].push_back({part, part / 7 * 7 + 6 - part % 7});
  }
  const std::vector<ImagePair> pairs = {{0, 1}, {1, 0}};
  const std::vector<RegionTruth> truths = judge_regions(grids.view(), {7, 7}, parts, pairs, {});
  ASSERT_EQ(truths.size(), 2U);
  for (const RegionTruth& truth : truths) {
    EXPECT_EQ(truth.parts, 98U);
    EXPECT_GT(truth.right, 0.85) << truth.name;
    EXPECT_LT(truth.same_place, 0.6) << "a mirror image: the same place is another part";
    EXPECT_GT(truth.coverage, truth.even_coverage);
    EXPECT_LT(truth.target_cells, 0.5);
  }
  // Parts that are elsewhere are not found.
  for (PartCell& part : parts[1]) part.cell = 48 - part.cell;
  EXPECT_LT(judge_regions(grids.view(), {7, 7}, parts, pairs, {})[0].right, 0.5);
}

}  // namespace
}  // namespace diml
