#include "models/grid_pooling.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "diml/error.h"

namespace diml::test {
namespace {

std::vector<float> random_map(std::size_t count) {
  Random random(7);
  std::vector<float> map(count);
  for (float& v : map) v = static_cast<float>(random.normal());
  return map;
}

// map: [height, width], a value between places.
double bilinear(const std::vector<float>& map, std::size_t width, std::size_t height, double y,
                double x) {
  y = std::min(y, static_cast<double>(height - 1));
  x = std::min(x, static_cast<double>(width - 1));
  const auto y0 = static_cast<std::size_t>(y);
  const auto x0 = static_cast<std::size_t>(x);
  const std::size_t y1 = std::min(y0 + 1, height - 1);
  const std::size_t x1 = std::min(x0 + 1, width - 1);
  const double fy = y - static_cast<double>(y0);
  const double fx = x - static_cast<double>(x0);
  const auto at = [&](std::size_t r, std::size_t c) { return map[r * width + c]; };
  return (1 - fy) * ((1 - fx) * at(y0, x0) + fx * at(y0, x1)) +
         fy * ((1 - fx) * at(y1, x0) + fx * at(y1, x1));
}

// The definition, plainly: resize the map with aligned corners to 4G x 4G, then mean over blocks.
double aligned(const std::vector<float>& map, std::size_t height, std::size_t width,
               std::size_t grid, std::size_t gy, std::size_t gx) {
  const auto scale = [&](std::size_t size) {
    return static_cast<double>(size - 1) / static_cast<double>(4 * grid - 1);
  };
  double sum = 0.0;
  for (std::size_t y = 4 * gy; y < 4 * gy + 4; ++y) {
    for (std::size_t x = 4 * gx; x < 4 * gx + 4; ++x) {
      sum += bilinear(map, width, height, static_cast<double>(y) * scale(height),
                      static_cast<double>(x) * scale(width));
    }
  }
  return sum / 16.0;
}

double roi(const std::vector<float>& map, std::size_t height, std::size_t width, std::size_t grid,
           std::size_t gy, std::size_t gx) {
  const double bin_y = static_cast<double>(height) / static_cast<double>(grid);
  const double bin_x = static_cast<double>(width) / static_cast<double>(grid);
  double sum = 0.0;
  for (const double sy : {0.25, 0.75}) {
    for (const double sx : {0.25, 0.75}) {
      sum += bilinear(map, width, height, (static_cast<double>(gy) + sy) * bin_y,
                      (static_cast<double>(gx) + sx) * bin_x);
    }
  }
  return sum / 4.0;
}

TEST(GridPooling, AlignIsAResizeWithAlignedCornersAndMeansOfFour) {
  // Neither side is a multiple of the grid, and the sides differ.
  const std::vector<float> map = random_map(7 * 9);
  std::vector<float> cells(16);
  pool_map(map, 7, 9, 1, 4, PoolingRule::align, cells);
  for (std::size_t gy = 0; gy < 4; ++gy) {
    for (std::size_t gx = 0; gx < 4; ++gx) {
      EXPECT_NEAR(cells[gy * 4 + gx], aligned(map, 7, 9, 4, gy, gx), 1e-6) << gy << " " << gx;
    }
  }
}

TEST(GridPooling, RoiAlignTakesFourSamplesACell) {
  const std::vector<float> map = random_map(7 * 9);
  std::vector<float> cells(16);
  pool_map(map, 7, 9, 1, 4, PoolingRule::roi_align, cells);
  for (std::size_t gy = 0; gy < 4; ++gy) {
    for (std::size_t gx = 0; gx < 4; ++gx) {
      EXPECT_NEAR(cells[gy * 4 + gx], roi(map, 7, 9, 4, gy, gx), 1e-6) << gy << " " << gx;
    }
  }
}

TEST(GridPooling, TheMapItselfWhereTheGridHasItsSize) {
  const std::vector<float> map = random_map(7 * 7 * 3);
  std::vector<float> cells(map.size());
  pool_map(map, 7, 7, 3, 7, PoolingRule::align, cells);
  EXPECT_EQ(cells, map);
}

TEST(GridPooling, PlainMeansWhereTheGridDividesTheMap) {
  const std::vector<float> map = random_map(8 * 8 * 2);
  std::vector<float> cells(4 * 4 * 2);
  pool_map(map, 8, 8, 2, 4, PoolingRule::align, cells);
  const auto at = [&](std::size_t y, std::size_t x, std::size_t c) {
    return map[(y * 8 + x) * 2 + c];
  };
  for (std::size_t c = 0; c < 2; ++c) {
    const double mean = (at(2, 4, c) + at(2, 5, c) + at(3, 4, c) + at(3, 5, c)) / 4.0;
    EXPECT_NEAR(cells[(1 * 4 + 2) * 2 + c], mean, 1e-6);
  }
}

TEST(GridPooling, EveryCellIsAMean) {
  for (const PoolingRule rule : {PoolingRule::align, PoolingRule::roi_align}) {
    for (const std::size_t size : {1, 2, 3, 7, 14, 15}) {
      for (const std::size_t grid : {1, 2, 4, 7, 14}) {
        const std::vector<float> matrix = pooling_matrix(size, grid, rule);
        for (std::size_t cell = 0; cell < grid; ++cell) {
          double sum = 0.0;
          for (std::size_t k = 0; k < size; ++k) {
            EXPECT_GE(matrix[cell * size + k], 0.0F);
            sum += matrix[cell * size + k];
          }
          EXPECT_NEAR(sum, 1.0, 1e-6) << name_of(rule) << " " << size << " to " << grid;
        }
      }
    }
  }
}

TEST(GridPooling, AnUnknownRuleIsToldWithTheKnownOnes) {
  try {
    pooling_rule_from("avg");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "unknown pooling 'avg': align or roi_align");
  }
}

}  // namespace
}  // namespace diml::test
