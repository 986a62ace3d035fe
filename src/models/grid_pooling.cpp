#include "models/grid_pooling.h"

#include <algorithm>

#include "diml/error.h"

namespace diml {
namespace {

// Adds `share` of the value interpolated at `position` to a row of the matrix.
void add_sample(std::span<float> row, double position, double share) {
  const auto last = row.size() - 1;
  const std::size_t low = std::min(static_cast<std::size_t>(position), last);
  const std::size_t high = std::min(low + 1, last);
  const double fraction = std::clamp(position - static_cast<double>(low), 0.0, 1.0);
  row[low] += static_cast<float>(share * (1.0 - fraction));
  row[high] += static_cast<float>(share * fraction);
}

}  // namespace

std::vector<float> pooling_matrix(std::size_t size, std::size_t grid, PoolingRule rule) {
  std::vector<float> matrix(grid * size, 0.0F);
  const auto row = [&](std::size_t cell) { return std::span(matrix).subspan(cell * size, size); };
  const double length = static_cast<double>(size);
  for (std::size_t cell = 0; cell < grid; ++cell) {
    if (rule == PoolingRule::roi_align) {
      constexpr std::size_t kSamples = 2;  // paper, section 3.2
      const double bin = length / static_cast<double>(grid);
      for (std::size_t s = 0; s < kSamples; ++s) {
        const double within = (static_cast<double>(s) + 0.5) / kSamples;
        add_sample(row(cell), (static_cast<double>(cell) + within) * bin, 1.0 / kSamples);
      }
    } else if (size % grid == 0) {
      const std::size_t block = size / grid;
      std::fill_n(row(cell).begin() + static_cast<std::ptrdiff_t>(cell * block), block,
                  1.0F / static_cast<float>(block));
    } else {
      constexpr std::size_t kSamples = 4;
      const double step = (length - 1.0) / static_cast<double>(kSamples * grid - 1);
      for (std::size_t s = 0; s < kSamples; ++s) {
        add_sample(row(cell), static_cast<double>(cell * kSamples + s) * step, 1.0 / kSamples);
      }
    }
  }
  return matrix;
}

void pool_map(std::span<const float> map, std::size_t height, std::size_t width,
              std::size_t channels, std::size_t grid, PoolingRule rule, std::span<float> cells) {
  const std::vector<float> rows = pooling_matrix(height, grid, rule);
  const std::vector<float> columns = pooling_matrix(width, grid, rule);
  std::fill(cells.begin(), cells.end(), 0.0F);
  for (std::size_t gy = 0; gy < grid; ++gy) {
    for (std::size_t y = 0; y < height; ++y) {
      const float of_row = rows[gy * height + y];
      if (of_row == 0.0F) continue;
      for (std::size_t gx = 0; gx < grid; ++gx) {
        float* cell = &cells[(gy * grid + gx) * channels];
        for (std::size_t x = 0; x < width; ++x) {
          const float share = of_row * columns[gx * width + x];
          if (share == 0.0F) continue;
          const float* place = &map[(y * width + x) * channels];
          for (std::size_t c = 0; c < channels; ++c) cell[c] += share * place[c];
        }
      }
    }
  }
}

}  // namespace diml
