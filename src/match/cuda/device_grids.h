#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device.h"
#include "match/match_on_device.h"

namespace diml::cuda {

// A set of grids in the GPU's memory.
class UploadedGrids {
 public:
  // All of the set.
  UploadedGrids(const GridSetView& set, cudaStream_t stream);
  // Only the given indices, in this order; as float32 where `widen` is set.
  UploadedGrids(const GridSetView& set, std::span<const std::int64_t> ids, bool widen,
                cudaStream_t stream);

  DeviceGrids view() const { return grids_; }
  // Whether these are the grids of exactly that set.
  bool holds(const GridSetView& set) const;

 private:
  GridSetView host_{};
  DeviceGrids grids_{};
  DeviceArray<std::byte> cells_;
  DeviceArray<float> globals_;
  std::vector<std::byte> packed_cells_;  // until the upload is complete
  std::vector<float> packed_globals_;
};

}  // namespace diml::cuda
