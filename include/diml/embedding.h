#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "diml/image.h"

namespace diml {

enum class ChannelOrder : std::uint8_t { rgb, bgr };

// What happens to a photo before the network sees it. It belongs to the weights. The defaults are
// torchvision's.
struct Preprocessing {
  std::size_t resize = 256;  // short side, antialiased
  std::size_t crop = 224;    // from the middle
  Interpolation interpolation = Interpolation::bilinear;
  ChannelOrder channels = ChannelOrder::rgb;
  // In grey levels of 0 to 255, in the order of the channels: (pixel - mean) / deviation.
  std::array<float, 3> mean = {123.675F, 116.28F, 103.53F};
  std::array<float, 3> deviation = {58.395F, 57.12F, 57.375F};
};

// Limits of Preprocessing::resize and crop.
inline constexpr std::size_t kFewestPixels = 16;
inline constexpr std::size_t kMostPixels = 4096;

// Throws when the values make no sense (a crop larger than the resized image, a deviation of 0).
void check(const Preprocessing& preprocessing);

// "resize", "crop", "interpolation", "channels", "mean" and "std" as text; an absent name leaves
// its value as it is. The metadata of weights, sidecar files and the command line use the same
// names. Bilinear is not written: files from before there was another keep their bytes.
std::map<std::string, std::string> to_text(const Preprocessing& preprocessing);
void from_text(const std::map<std::string, std::string>& text, Preprocessing& preprocessing);

// Preprocessing as to_text() wrote it among other things, for from_text(). Nothing where a name is
// missing.
std::optional<std::map<std::string, std::string>> preprocessing_in(
    const std::map<std::string, std::string>& text);

// How an H x W map becomes a G x G grid.
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

enum class Precision : std::uint8_t { float32, bfloat16 };
Precision precision_from(std::string_view name);
const char* name_of(Precision precision);

// The library that runs a network.
enum class NetworkBackend : std::uint8_t {
  fastest,  // "auto": onednn on the CPU where it is built in, else torch
  onednn,
  torch,
};
NetworkBackend network_backend_from(std::string_view name);
const char* name_of(NetworkBackend backend);

// How images become grids, and how the network runs.
struct EmbeddingParams {
  std::string model{};   // a file, or the name of fetched weights
  std::size_t grid = 4;  // G; paper, section 4.2
  PoolingRule pooling = PoolingRule::align;
  bool projection = true;                              // apply it where the model has one
  std::map<std::string, std::string> preprocessing{};  // overrides of the model's, as in from_text

  // The fields below change results by rounding at most.
  NetworkBackend backend = NetworkBackend::fastest;
  Precision precision = Precision::float32;
  std::string device = "cpu";  // or cuda, or cuda:1; these need LibTorch
  std::size_t batch = 0;       // most images in one forward pass; 0: default_batch(device)
  int threads = 0;
};

// 8 on the CPU: maps of more images exceed the caches. 256 on a GPU: fewer leave parts of it idle.
std::size_t default_batch(const std::string& device);

// The setting of re-ranking that was chosen for a network on classes of its training, and the
// evidence. It is kept in the metadata of the weights: `diml calibrate` writes it; evaluate, search
// and serve use it unless told otherwise.
struct Calibration {
  std::size_t grid = 4;
  double lambda = 0.05;
  double structural_weight = 1.0;
  std::size_t rerank = 100;  // K

  std::string criterion = "p_at_1";
  double value =
      0.0;  // per cent; each query is evaluated with the setting that other classes chose
  double paper = 0.0;       // the same queries with the paper's setting, the defaults above
  double gain_error = 0.0;  // standard error of their difference
  std::size_t images = 0;
  std::size_t classes = 0;
  std::size_t folds = 0;
  std::string data{};  // where the images are from

  bool operator==(const Calibration&) const = default;
};

// Names and values as text, and back; nothing where the text has no calibration. Throws on values
// that make no sense.
std::map<std::string, std::string> to_text(const Calibration& calibration);
std::optional<Calibration> calibration_from(const std::map<std::string, std::string>& text);

// "grid 7, lambda 0.05, structural weight 2, K 100": for messages.
std::string setting_text(const Calibration& calibration);

}  // namespace diml
