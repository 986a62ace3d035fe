#include "diml/generated.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "diml/error.h"
#include "diml/match.h"

namespace diml {
namespace {

TEST(GeneratedGrids, TheSeedDecidesEverything) {
  const auto first_value = [](std::uint64_t seed) {
    return generate_grids({.size = 40, .classes = 4, .seed = seed}).grids[39].at(3, 5);
  };
  EXPECT_EQ(first_value(1), first_value(1));
  EXPECT_NE(first_value(1), first_value(2));
}

TEST(GeneratedGrids, EveryClassHasImages) {
  const GeneratedGrids generated =
      generate_grids({.size = 103, .classes = 10, .grid = 3, .dim = 16});
  EXPECT_EQ(std::set<std::int64_t>(generated.labels.begin(), generated.labels.end()).size(), 10u);
  EXPECT_EQ(generated.grids.cells_per_grid(), 9u);
}

TEST(GeneratedGrids, ImagesOfAClassMatchBetterThanOthers) {
  const GeneratedGrids generated = generate_grids({.size = 60, .classes = 6});
  double same = 0.0;
  double different = 0.0;
  for (std::size_t k = 0; k < 9; ++k) {
    same += match(generated.grids[k], generated.grids[k + 1]).score;
    different += match(generated.grids[k], generated.grids[k + 30]).score;
  }
  EXPECT_GT(same, different + 0.2);
}

TEST(GeneratedGrids, CellsThatShareADirectionLieInACone) {
  const auto mean_similarity = [](double common) {
    const GeneratedGrids generated = generate_grids({.size = 60, .classes = 6, .common = common});
    double sum = 0.0;
    for (std::size_t k = 0; k < 20; ++k) {
      for (const double value : match(generated.grids[k], generated.grids[k + 20]).similarity) {
        sum += value / (20 * 16 * 16);
      }
    }
    return sum;
  };
  EXPECT_LT(mean_similarity(0.0), 0.2);
  EXPECT_NEAR(mean_similarity(0.7), 0.45, 0.05);
  EXPECT_GT(mean_similarity(5.0), 0.9);
}

TEST(GeneratedGrids, RefusesAnImpossibleSharedDirection) {
  EXPECT_THROW(generate_grids({.common = -0.1}), Error);
  EXPECT_THROW(generate_grids({.common = NAN}), Error);
}

TEST(GeneratedGrids, RefusesMoreClassesThanImages) {
  EXPECT_THROW(generate_grids({.size = 3, .classes = 4}), Error);
  EXPECT_THROW(generate_grids({.size = 3, .classes = 0}), Error);
}

}  // namespace
}  // namespace diml
