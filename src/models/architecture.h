#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diml {

// Where a bottleneck halves the map: its first 1x1 (the original, Caffe and Keras) or its 3x3
// (torchvision). Weights trained in one form are wrong in the other.
enum class StridePlace : std::uint8_t { in_1x1, in_3x3 };
StridePlace stride_place_from(std::string_view name);
const char* name_of(StridePlace place);

// A convolution and the BatchNorm behind it, under their names in torchvision's state dictionaries.
struct ConvolutionLayer {
  std::string name;  // of the kernel, "layer1.0.conv1"
  std::string norm;  // of the BatchNorm, "layer1.0.bn1"
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::size_t kernel = 1;
  std::size_t stride = 1;

  std::size_t padding() const { return kernel / 2; }
};

// relu(last(...relu(first(x))) + shortcut(x)); without a shortcut layer x itself is added.
struct ResidualBlock {
  std::string name;  // "layer1.0"
  std::vector<ConvolutionLayer> layers;
  std::optional<ConvolutionLayer> shortcut;
};

// A residual network up to its last map, as data: every backend builds the same one from it. The
// stem is followed by ReLU and a 3x3 maximum with stride 2.
struct Architecture {
  std::string name;
  ConvolutionLayer stem;
  std::vector<ResidualBlock> blocks;

  std::size_t channels() const { return blocks.back().layers.back().outputs; }
};

// small: three short stages for CPUs and small images, a 7 x 7 map from 112 pixels.
const std::vector<std::string>& architecture_names();
Architecture make_architecture(std::string_view name, StridePlace stride);

}  // namespace diml
