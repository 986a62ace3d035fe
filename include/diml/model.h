#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "diml/architecture.h"
#include "diml/weights.h"

namespace diml {

enum class ChannelOrder : std::uint8_t { rgb, bgr };

// What happens to a photo before the network sees it. It belongs to the weights, not to the user's
// memory. The defaults are torchvision's.
struct Preprocessing {
  std::size_t resize = 256;  // short side, antialiased bilinear
  std::size_t crop = 224;    // from the middle
  ChannelOrder channels = ChannelOrder::rgb;
  // In grey levels of 0 to 255, in the order of the channels: (pixel - mean) / deviation.
  std::array<float, 3> mean = {123.675F, 116.28F, 103.53F};
  std::array<float, 3> deviation = {58.395F, 57.12F, 57.375F};
};

// Smaller shows nothing, larger is a slip of the pen.
inline constexpr std::size_t kFewestPixels = 16;
inline constexpr std::size_t kMostPixels = 4096;

// Throws when the values make no sense (a crop larger than the resized image, a deviation of 0).
void check(const Preprocessing& preprocessing);

// "resize", "crop", "channels", "mean" and "std" as text; what is absent stays as it was. The same
// words name them in the metadata of weights, in sidecar files and on the command line.
std::map<std::string, std::string> to_text(const Preprocessing& preprocessing);
void from_text(const std::map<std::string, std::string>& text, Preprocessing& preprocessing);

// A trained network: its shape, its arrays, how photos enter it and where it comes from.
struct Model {
  std::string architecture;
  StridePlace stride = StridePlace::in_3x3;
  double epsilon = 1e-5;  // of BatchNorm
  Preprocessing preprocessing;
  std::string provenance;
  // Torchvision's names, float32, BatchNorm as trained; "projection.weight" [D, C] and
  // "projection.bias" [D] where there is a projection.
  std::map<std::string, Tensor> tensors;

  bool has_projection() const { return tensors.contains("projection.weight"); }
  std::size_t output_channels() const;  // D with a projection, else C
};

// .safetensors with our metadata. Throws with the remedy where it is absent: import it first.
Model load_model(const std::string& path);
void save_model(const std::string& path, const Model& model);

struct ImportParams {
  std::optional<StridePlace> stride;                 // where the file does not say
  std::map<std::string, std::string> preprocessing;  // overrides, as in from_text
};

// Weights of others: torchvision's and timm's names (.safetensors, .pth) and the Keras names of
// TensorFlow.js, told by content. The architecture is told by the arrays; a classifier is dropped;
// whatever is missing, left over or of the wrong shape is refused by name.
Model import_model(const std::string& path, const ImportParams& params = {});

// With random weights, to train from or to try: He's normal initialisation, deterministic from the
// seed. dim: of the projection, 0 for none.
Model make_model(std::string_view architecture, StridePlace stride, std::size_t dim,
                 std::uint64_t seed);
// Uniform within 1 / sqrt(channels), weights and bias, as PyTorch's linear layers begin: an
// optimiser whose steps do not grow with the weights turns small ones sooner.
void add_projection(Model& model, std::size_t dim, std::uint64_t seed);
// Of the weights that a training run of this seed begins with.
std::uint64_t starting_seed(std::uint64_t seed_of_run);

}  // namespace diml
