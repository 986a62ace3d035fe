#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "diml/grid_pooling.h"
#include "diml/model.h"

namespace diml {

struct GridMakerParams {
  Preprocessing preprocessing{};
  std::size_t grid = 4;  // paper, section 4.2
  PoolingRule pooling = PoolingRule::align;
  std::size_t batch = 8;  // images in one forward pass. Fewer are run as fewer only where a grid
                          // has the same bits then; else empty places are run with them
  int threads = 0;
};

// What is said of a network that gives NaN or infinity.
inline constexpr const char* kNoNumbers =
    "the network gives NaN or infinity: its weights are damaged, or the precision is too coarse "
    "for "
    "them";

// Cropped images to grids, a room full at a time, where the network runs: bytes go there and grids
// come back. Rooms are worked on in the order in which they were begun, at once or while the caller
// fills another.
class GridMaker {
 public:
  virtual ~GridMaker() = default;

  virtual std::size_t rooms() const = 0;
  virtual std::size_t images() const = 0;  // that a room has places for
  // [images, 3, crop, crop], channels in the network's order. Not to be touched between begin() and
  // finish().
  virtual std::span<std::uint8_t> planes(std::size_t room) = 0;

  // used: how many of its places hold an image.
  virtual void begin(std::size_t room, std::size_t used) = 0;
  // Waits for it. cells: [used, grid * grid, dim], globals: [used, dim], unit vectors. Throws where
  // the network gives no numbers.
  virtual void finish(std::size_t room, std::span<float> cells, std::span<float> globals) = 0;
};

}  // namespace diml
