#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diml/grid_maker.h"
#include "diml/model.h"

namespace diml {

struct MapShape {
  std::size_t channels = 0;
  std::size_t height = 0;
  std::size_t width = 0;

  std::size_t count() const { return channels * height * width; }
};

enum class Precision : std::uint8_t { float32, bfloat16 };
Precision precision_from(std::string_view name);
const char* name_of(Precision precision);

// Sees the map behind the stem ("stem") and behind each block ("layer1.0"): [batch, height, width,
// channels].
using Tap = std::function<void(const std::string& name, MapShape shape, std::span<const float>)>;

// A trained network, ready to run: preprocessed pixels in, feature maps out. Not for several
// threads at once.
class Network {
 public:
  virtual ~Network() = default;
  virtual const char* name() const = 0;

  // The map of an image of height x width pixels.
  virtual MapShape output_shape(std::size_t height, std::size_t width) = 0;

  // pixels: [batch, 3, height, width]. maps: [batch, H, W, C]. A map depends on its own image and
  // on the size of the batch, not on the other images in it.
  virtual void forward(std::span<const float> pixels, std::size_t batch, std::size_t height,
                       std::size_t width, std::span<float> maps) = 0;

  // Whether a map has, in a batch of `few`, the very bits that it has in a batch of `many`. No
  // where nobody knows.
  virtual bool same_bits(std::size_t few, std::size_t many, std::size_t height, std::size_t width);

  // Null where the network knows no better way than forward(). The network must outlive it.
  virtual std::unique_ptr<GridMaker> grid_maker(const GridMakerParams& params);

  // Of one forward pass, the mean of `passes`; the pixels lie where the network runs.
  virtual double seconds_of_pass(std::size_t passes, std::size_t batch, std::size_t height,
                                 std::size_t width);
};

struct NetworkParams {
  Precision precision = Precision::float32;
  bool projection = true;  // apply it where the model has one
  int threads = 0;
  Tap tap;                     // for tests; costs a copy of every map
  std::string device = "cpu";  // or cuda, or cuda:1; LibTorch alone knows others than the CPU
};

// On oneDNN: BatchNorm folded, ReLU and the sum of the shortcut fused into the convolutions. With
// the ONEDNN feature.
std::unique_ptr<Network> make_onednn_network(const Model& model, const NetworkParams& params);

}  // namespace diml
