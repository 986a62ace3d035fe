#include "device_grids.h"

#include <cstring>

namespace diml::cuda {

UploadedGrids::UploadedGrids(const GridSetView& set, cudaStream_t stream) : host_(set) {
  const std::size_t bytes = set.size * set.cells_per_grid * set.dim * size_of(set.type);
  const auto* cells = static_cast<const std::byte*>(set.cells);
  grids_ = {cells_.upload({cells, bytes}, stream),
            set.type,
            set.size,
            set.cells_per_grid,
            set.dim,
            globals_.upload({set.globals, set.size * set.dim}, stream)};
}

UploadedGrids::UploadedGrids(const GridSetView& set, std::span<const std::int64_t> ids, bool widen,
                             cudaStream_t stream) {
  const CellType type = widen ? CellType::float32 : set.type;
  const std::size_t values = set.cells_per_grid * set.dim;
  const std::size_t bytes = values * size_of(type);
  packed_cells_.resize(ids.size() * bytes);
  packed_globals_.resize(ids.size() * set.dim);
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const GridView grid = set[static_cast<std::size_t>(ids[k])];
    std::byte* to = packed_cells_.data() + k * bytes;
    if (type == set.type) {
      std::memcpy(to, grid.cells, bytes);
    } else {
      for (std::size_t v = 0; v < values; ++v) {
        const float value = grid.at(v / set.dim, v % set.dim);
        std::memcpy(to + v * sizeof(float), &value, sizeof value);
      }
    }
    std::memcpy(&packed_globals_[k * set.dim], grid.global, set.dim * sizeof(float));
  }
  grids_ = {cells_.upload(packed_cells_, stream),    type, ids.size(), set.cells_per_grid, set.dim,
            globals_.upload(packed_globals_, stream)};
}

bool UploadedGrids::holds(const GridSetView& set) const {
  return host_.cells && host_.cells == set.cells && host_.globals == set.globals &&
         host_.type == set.type && host_.size >= set.size &&
         host_.cells_per_grid == set.cells_per_grid && host_.dim == set.dim;
}

}  // namespace diml::cuda
