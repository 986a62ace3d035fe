#include "position_embedding.h"

#include <algorithm>
#include <cmath>

namespace diml {
namespace {

double cubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * kA;
  return 0.0;
}

}  // namespace

std::vector<float> bicubic_matrix(std::size_t from, std::size_t to) {
  std::vector<float> matrix(to * from, 0.0F);
  const double step = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = std::max(step, 1.0);
  const double reach = 2.0 * stretch;
  for (std::size_t row = 0; row < to; ++row) {
    const double centre = (static_cast<double>(row) + 0.5) * step;
    const auto first = static_cast<std::size_t>(std::max(0.0, centre - reach + 0.5));
    const auto end =
        static_cast<std::size_t>(std::min(static_cast<double>(from), centre + reach + 0.5));
    double sum = 0.0;
    for (std::size_t k = first; k < end; ++k) {
      sum += cubic((static_cast<double>(k) + 0.5 - centre) / stretch);
    }
    for (std::size_t k = first; k < end; ++k) {
      matrix[row * from + k] =
          static_cast<float>(cubic((static_cast<double>(k) + 0.5 - centre) / stretch) / sum);
    }
  }
  return matrix;
}

std::vector<float> token_rows(const Tokens& tokens, std::span<const float> class_token,
                              std::span<const float> registers, std::span<const float> positions,
                              std::size_t height, std::size_t width) {
  const std::size_t channels = tokens.width;
  std::vector<float> rows((tokens.prefix() + height * width) * channels, 0.0F);
  std::copy(class_token.begin(), class_token.end(), rows.begin());
  std::copy(registers.begin(), registers.end(),
            rows.begin() + static_cast<std::ptrdiff_t>(class_token.size()));
  const std::size_t of_prefix = tokens.prefix() * channels;
  if (tokens.positions_of_all) {
    for (std::size_t k = 0; k < of_prefix; ++k) rows[k] += positions[k];
    positions = positions.subspan(of_prefix);
  }
  const std::size_t side = tokens.side;
  if (height == side && width == side) {
    std::copy(positions.begin(), positions.end(),
              rows.begin() + static_cast<std::ptrdiff_t>(of_prefix));
    return rows;
  }
  // Columns first, then rows.
  const std::vector<float> across = bicubic_matrix(side, width);
  const std::vector<float> down = bicubic_matrix(side, height);
  std::vector<float> narrowed(side * width * channels, 0.0F);
  const auto add = [&](float share, const float* from, float* to) {
    if (share == 0.0F) return;
    for (std::size_t c = 0; c < channels; ++c) to[c] += share * from[c];
  };
  for (std::size_t y = 0; y < side; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      for (std::size_t k = 0; k < side; ++k) {
        add(across[x * side + k], &positions[(y * side + k) * channels],
            &narrowed[(y * width + x) * channels]);
      }
    }
  }
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      for (std::size_t k = 0; k < side; ++k) {
        add(down[y * side + k], &narrowed[(k * width + x) * channels],
            &rows[of_prefix + (y * width + x) * channels]);
      }
    }
  }
  return rows;
}

}  // namespace diml
