// Residual networks under torchvision's names.

#include <algorithm>
#include <array>

#include "families.h"

namespace diml::resnet {
namespace {

struct Stages {
  const char* name;
  bool bottleneck;
  std::size_t width;  // of the stem and the first stage; doubled from stage to stage
  std::vector<std::size_t> depths;
};

const std::array kStages = {
    Stages{"resnet18", false, 64, {2, 2, 2, 2}}, Stages{"resnet34", false, 64, {3, 4, 6, 3}},
    Stages{"resnet50", true, 64, {3, 4, 6, 3}},  Stages{"resnet101", true, 64, {3, 4, 23, 3}},
    Stages{"small", false, 32, {1, 1, 1}},
};

constexpr std::size_t kExpansion = 4;  // of a bottleneck's output over its width

const Stages* find(std::string_view name) {
  const auto found = std::find_if(kStages.begin(), kStages.end(),
                                  [&](const Stages& stages) { return name == stages.name; });
  return found == kStages.end() ? nullptr : &*found;
}

// relu(last(...relu(first(x))) + shortcut(x)); without a shortcut layer x itself is added.
Value add_block(Architecture& architecture, Value map, const std::string& name, bool bottleneck,
                std::size_t width, std::size_t stride, StridePlace place) {
  std::vector<Convolution> layers;
  const std::size_t inputs = architecture.channels_of(map);
  const auto layer = [&](std::size_t outputs, std::size_t kernel, std::size_t layer_stride) {
    const std::string number = std::to_string(layers.size() + 1);
    const std::size_t from = layers.empty() ? inputs : layers.back().outputs;
    layers.push_back({.name = name + ".conv" + number,
                      .norm = name + ".bn" + number,
                      .inputs = from,
                      .outputs = outputs,
                      .kernel = kernel,
                      .stride = layer_stride,
                      .relu = true});
  };
  if (bottleneck) {
    layer(width, 1, place == StridePlace::in_1x1 ? stride : 1);
    layer(width, 3, place == StridePlace::in_3x3 ? stride : 1);
    layer(width * kExpansion, 1, 1);
  } else {
    layer(width, 3, stride);
    layer(width, 3, 1);
  }
  Value inner = map;
  for (std::size_t k = 0; k + 1 < layers.size(); ++k) {
    inner = architecture.add({.kind = layers[k], .source = inner});
  }
  Value shortcut = map;
  const std::size_t outputs = layers.back().outputs;
  const std::size_t first_array = architecture.arrays.size();
  if (stride != 1 || inputs != outputs) {
    shortcut = architecture.add({.kind = Convolution{.name = name + ".downsample.0",
                                                     .norm = name + ".downsample.1",
                                                     .inputs = inputs,
                                                     .outputs = outputs,
                                                     .stride = stride},
                                 .source = map});
  }
  const std::size_t of_shortcut = architecture.arrays.size() - first_array;
  const Value result =
      architecture.add({.kind = layers.back(), .source = inner, .second = shortcut, .tap = name});
  // The shortcut is computed before the last layer and drawn after it: a seed gives the weights
  // that it has always given.
  const auto begin = architecture.arrays.begin() + static_cast<std::ptrdiff_t>(first_array);
  std::rotate(begin, begin + static_cast<std::ptrdiff_t>(of_shortcut), architecture.arrays.end());
  return result;
}

}  // namespace

std::vector<std::string> names() {
  std::vector<std::string> list;
  for (const Stages& stages : kStages) list.emplace_back(stages.name);
  return list;
}

bool knows(std::string_view name) { return find(name) != nullptr; }

Architecture make(std::string_view name, StridePlace stride) {
  const Stages& stages = *find(name);
  Architecture architecture;
  architecture.name = name;
  if (name == "small") {
    architecture.preprocessing.resize = 128;
    architecture.preprocessing.crop = 112;
  }
  std::size_t in_a_row = 1;
  architecture.map = architecture.add({.kind = Convolution{.name = "conv1",
                                                           .norm = "bn1",
                                                           .inputs = 3,
                                                           .outputs = stages.width,
                                                           .kernel = 7,
                                                           .stride = 2,
                                                           .relu = true}});
  architecture.map =
      architecture.add({.kind = MaxPooling{}, .source = architecture.map, .tap = "stem"});
  for (std::size_t stage = 0; stage < stages.depths.size(); ++stage) {
    for (std::size_t block = 0; block < stages.depths[stage]; ++block) {
      architecture.map = add_block(
          architecture, architecture.map,
          "layer" + std::to_string(stage + 1) + "." + std::to_string(block), stages.bottleneck,
          stages.width << stage, stage > 0 && block == 0 ? 2 : 1, stride);
      in_a_row += stages.bottleneck ? 3 : 2;
    }
  }
  architecture.weights =
      "imported from torchvision, timm and Keras; every layer agrees with NumPy within 1e-4";
  architecture.about = std::to_string(in_a_row) + " convolutions in a row, a map of " +
                       std::to_string(architecture.channels()) + " channels";
  return architecture;
}

}  // namespace diml::resnet
