#include "diml/grid.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "diml/error.h"
#include "match/unit_vectors.h"
#include "random_grid.h"

namespace diml {
namespace {

double norm_of(GridView grid, std::size_t cell) {
  double square = 0.0;
  for (std::size_t d = 0; d < grid.dim; ++d) square += std::pow(grid.at(cell, d), 2);
  return std::sqrt(square);
}

TEST(Grid, CellsAndGlobalAreUnitVectors) {
  for (const CellType type :
       {CellType::float32, CellType::float16, CellType::bfloat16, CellType::int8}) {
    const EmbeddingGrid grid = test::random_grid(15, 37, 1, type);
    // The scale of int8 cells is that of their integers, not of the numbers they were made of.
    const bool is_exact = type == CellType::float32 || type == CellType::int8;
    const double tolerance = is_exact ? 1e-6 : 1e-2;
    for (std::size_t i = 0; i < 15; ++i) EXPECT_NEAR(norm_of(grid, i), 1.0, tolerance);
    double square = 0.0;
    for (std::size_t d = 0; d < 37; ++d) square += std::pow(grid.view().global[d], 2);
    EXPECT_NEAR(square, 1.0, 1e-5);
  }
}

TEST(Grid, GlobalIsTheMeanOfTheCellsAsGivenUnlessSaid) {
  // Unnormalised on purpose: the long cell dominates the mean.
  const std::vector<float> cells = {3, 0, 0, 1};
  const EmbeddingGrid grid(cells, 2);
  EXPECT_NEAR(grid.view().global[0], 3.0 / std::sqrt(10.0), 1e-6);
  EXPECT_NEAR(grid.view().global[1], 1.0 / std::sqrt(10.0), 1e-6);
  const std::vector<float> own = {0, 2};
  const EmbeddingGrid with_own(cells, 2, own);
  EXPECT_EQ(with_own.view().global[0], 0.0f);
  EXPECT_EQ(with_own.view().global[1], 1.0f);
}

TEST(Grid, ExtremeScalesNormaliseWithoutOverflow) {
  const float huge = std::numeric_limits<float>::max();
  const float tiny = std::numeric_limits<float>::denorm_min();
  const EmbeddingGrid grid(std::vector<float>{huge, huge, tiny, 0, 0, 0}, 2);
  EXPECT_NEAR(norm_of(grid, 0), 1.0, 1e-6);
  EXPECT_NEAR(norm_of(grid, 1), 1.0, 1e-6);
  EXPECT_EQ(norm_of(grid, 2), 0.0);  // the zero cell stays zero
}

TEST(Grid, RefusesNanAndInfinity) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THROW(EmbeddingGrid(std::vector<float>{1, nan}, 2), Error);
  EXPECT_THROW(EmbeddingGrid(std::vector<float>{1, infinity}, 2), Error);
  EXPECT_THROW(EmbeddingGrid(std::vector<float>{1, 1}, 2, std::vector<float>{nan, 0}), Error);
}

TEST(Grid, AVectorOfLengthOneIsFoundAtAQuickLookAndKeepsItsBits) {
  std::size_t found = 0;
  std::size_t near = 0;
  for (const std::size_t dim : {1, 7, 8, 37, 128}) {
    const EmbeddingGrid grid = test::random_grid(1, dim, 3);
    for (int step = -40; step <= 40; ++step) {
      const double length = 1.0 + step * 1e-8;
      std::vector<float> vector;
      double square = 0.0;
      for (std::size_t d = 0; d < dim; ++d) {
        vector.push_back(static_cast<float>(grid.view().at(0, d) * length));
        square += static_cast<double>(vector[d]) * vector[d];
      }
      const double error = std::abs(1.0 / std::sqrt(square) - 1.0);
      const bool is_unit = is_surely_unit(vector);
      if (error < 1.49e-7 || error >= 1.5e-7) {
        EXPECT_EQ(is_unit, error < 1.5e-7) << error;
      }
      near += error > 1e-7 && error < 2e-7 ? 1 : 0;
      if (!is_unit) continue;
      ++found;
      const EmbeddingGrid stored(vector, dim, vector);
      for (std::size_t d = 0; d < dim; ++d) {
        EXPECT_EQ(stored.view().at(0, d), vector[d]);
        EXPECT_EQ(stored.view().global[d], vector[d]);
      }
    }
  }
  EXPECT_GT(found, 50u);
  EXPECT_GT(near, 20u);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(is_surely_unit(std::vector<float>{1.0f, nan}));
}

TEST(Grid, RefusesShapesOutsideItsLimits) {
  EXPECT_THROW(GridSet(1, 197, 8), Error);
  EXPECT_THROW(GridSet(1, 16, 4097), Error);
  EXPECT_THROW(GridSet(1, 0, 8), Error);
  EXPECT_NO_THROW(GridSet(1, 196, 4096));
  GridSet set(2, 4, 8);
  EXPECT_THROW(set.set(2, std::vector<float>(32)), Error);
  EXPECT_THROW(set.set(0, std::vector<float>(31)), Error);
}

TEST(Int8Cells, AreTheNearestIntegersUpTo127) {
  const EmbeddingGrid grid(std::vector<float>{0.5f, -1.0f, 0.25f, 0, 0, 0}, 3, {}, CellType::int8);
  const auto* integers = static_cast<const std::int8_t*>(grid.view().cells);
  const std::vector<int> expected = {64, -127, 32, 0, 0, 0};
  EXPECT_EQ(std::vector<int>(integers, integers + 6), expected);
  EXPECT_NEAR(grid.view().scale(0), 1.0 / std::sqrt(64.0 * 64 + 127 * 127 + 32 * 32), 1e-8);
  EXPECT_EQ(grid.view().scale(1), 0.0f);  // the zero cell stays zero
  EXPECT_EQ(norm_of(grid, 1), 0.0);
}

// So that a grid keeps its bits through a file, which holds the integers alone.
TEST(Int8Cells, IntegersGiveThemselves) {
  for (const std::size_t dim : {1, 3, 37, 128, 2048}) {
    const EmbeddingGrid grid = test::random_grid(5, dim, 11, CellType::int8);
    const auto* integers = static_cast<const std::int8_t*>(grid.view().cells);
    const std::vector<float> read(integers, integers + 5 * dim);
    const EmbeddingGrid again(read, dim, {}, CellType::int8);
    EXPECT_EQ(0, std::memcmp(grid.view().cells, again.view().cells,
                             bytes_of_grid(CellType::int8, 5, dim)));
    std::vector<float> unit;
    for (std::size_t k = 0; k < 5 * dim; ++k) unit.push_back(grid.view().at(k / dim, k % dim));
    const EmbeddingGrid of_units(unit, dim, {}, CellType::int8);
    EXPECT_EQ(0, std::memcmp(grid.view().cells, of_units.view().cells,
                             bytes_of_grid(CellType::int8, 5, dim)));
  }
}

TEST(Int8Cells, AGridTakesItsIntegersAndOneScaleForEachCell) {
  EXPECT_EQ(bytes_of_grid(CellType::int8, 16, 128), 16u * 128 + 16 * 4);
  EXPECT_EQ(bytes_of_grid(CellType::float16, 16, 128), 16u * 128 * 2);
  GridSet set(3, 5, 7, CellType::int8);
  for (std::size_t i = 0; i < 3; ++i) set.set(i, test::random_cells(5, 7, i));
  const GridSet copy(set.view());
  for (std::size_t i = 0; i < 3; ++i) {
    const EmbeddingGrid alone(test::random_cells(5, 7, i), 7, {}, CellType::int8);
    for (std::size_t k = 0; k < 35; ++k) {
      EXPECT_EQ(set[i].at(k / 7, k % 7), alone.view().at(k / 7, k % 7));
      EXPECT_EQ(copy[i].at(k / 7, k % 7), alone.view().at(k / 7, k % 7));
    }
  }
}

TEST(CellType, NamesGoBothWays) {
  for (const CellType type :
       {CellType::float32, CellType::float16, CellType::bfloat16, CellType::int8}) {
    EXPECT_EQ(cell_type_from(name_of(type)), type);
  }
  EXPECT_THROW(cell_type_from("float64"), Error);
}

}  // namespace
}  // namespace diml
