#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace diml {

// How an H x W map becomes a G x G grid. Both rules work on rows and columns separately, so each is
// a pair of small matrices: cells = rows * map * columns^T.
enum class PoolingRule : std::uint8_t {
  // Bilinear resize with aligned corners to 4G, then means of four; plain means where G divides the
  // size; the map itself where G is the size. The published numbers were made with it.
  align,
  // ROI Align of the whole map, sampling ratio 2, as torchvision's roi_align computes it by
  // default.
  roi_align,
};
PoolingRule pooling_rule_from(std::string_view name);
const char* name_of(PoolingRule rule);

// [grid, size]: what each place of an axis gives to each cell of the grid. Rows sum to 1.
std::vector<float> pooling_matrix(std::size_t size, std::size_t grid, PoolingRule rule);

// map: [height, width, channels]; cells: [grid * grid, channels], row-major.
void pool_map(std::span<const float> map, std::size_t height, std::size_t width,
              std::size_t channels, std::size_t grid, PoolingRule rule, std::span<float> cells);

}  // namespace diml
