#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "diml/embedding.h"

namespace diml {

struct MapShape {
  std::size_t channels = 0;
  std::size_t height = 0;
  std::size_t width = 0;
  // The network gives a global vector of its own, [channels], behind each map; else the global
  // vector is the map's mean.
  bool own_global = false;

  std::size_t count() const { return channels * (height * width + (own_global ? 1 : 0)); }
};

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

// A trained network, ready to run: preprocessed pixels in, feature maps out. Not for several
// threads at once. Derive from it to embed images with a network of your own.
class Network {
 public:
  virtual ~Network() = default;
  virtual const char* name() const = 0;

  // The map of an image of height x width pixels.
  virtual MapShape output_shape(std::size_t height, std::size_t width) = 0;

  // pixels: [batch, 3, height, width]. maps: [batch, H, W, C], or [batch, H * W + 1, C] with global
  // vectors of the network's own: [batch, count()] of its shape. A map depends on its own image and
  // on the size of the batch, not on the other images in it.
  virtual void forward(std::span<const float> pixels, std::size_t batch, std::size_t height,
                       std::size_t width, std::span<float> maps) = 0;

  // Whether a map has the same bits in a batch of `few` as in a batch of `many`. False where that
  // is unknown.
  virtual bool same_bits(std::size_t few, std::size_t many, std::size_t height, std::size_t width);

  // A faster way to grids than forward() and pooling on the CPU, or null. The network must outlive
  // it. params.batch is not 0.
  virtual std::unique_ptr<GridMaker> grid_maker(const Preprocessing& preprocessing,
                                                const EmbeddingParams& params);

  // How long one forward pass takes, the mean of `passes`; the pixels are on the network's device.
  virtual double seconds_of_pass(std::size_t passes, std::size_t batch, std::size_t height,
                                 std::size_t width);
};

}  // namespace diml
