#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace diml {

// The message about a network whose maps are not numbers.
inline constexpr const char* kNoNumbers =
    "the network gives NaN or infinity: its weights are damaged, or the precision is too coarse "
    "for them";

// Cropped images to grids, on the network's device: bytes are copied there and grids come back.
// Images are placed in slots. Slots are computed in the order of their begin(), at once or while
// the caller fills another.
class GridMaker {
 public:
  virtual ~GridMaker() = default;

  virtual std::size_t slots() const = 0;
  virtual std::size_t images() const = 0;  // capacity of a slot
  // [images, 3, crop, crop], channels in the network's order. Do not touch it between begin() and
  // finish().
  virtual std::span<std::uint8_t> planes(std::size_t slot) = 0;

  // used: the number of places that hold an image. A network runs a smaller batch only where a grid
  // keeps its bits; else it also runs the empty places.
  virtual void begin(std::size_t slot, std::size_t used) = 0;
  // Waits for the slot. cells: [used, grid * grid, dim], globals: [used, dim], unit vectors. Throws
  // where the network gives NaN or infinity.
  virtual void finish(std::size_t slot, std::span<float> cells, std::span<float> globals) = 0;
};

}  // namespace diml
