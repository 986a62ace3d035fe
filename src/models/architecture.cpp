#include "models/architecture.h"

#include <algorithm>
#include <array>

#include "diml/error.h"

namespace diml {
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

ResidualBlock make_block(const std::string& name, bool bottleneck, std::size_t inputs,
                         std::size_t width, std::size_t stride, StridePlace place) {
  ResidualBlock block{name, {}, {}};
  const auto add = [&](std::size_t outputs, std::size_t kernel, std::size_t layer_stride) {
    const std::string number = std::to_string(block.layers.size() + 1);
    const std::size_t from = block.layers.empty() ? inputs : block.layers.back().outputs;
    block.layers.push_back(
        {name + ".conv" + number, name + ".bn" + number, from, outputs, kernel, layer_stride});
  };
  if (bottleneck) {
    add(width, 1, place == StridePlace::in_1x1 ? stride : 1);
    add(width, 3, place == StridePlace::in_3x3 ? stride : 1);
    add(width * kExpansion, 1, 1);
  } else {
    add(width, 3, stride);
    add(width, 3, 1);
  }
  const std::size_t outputs = block.layers.back().outputs;
  if (stride != 1 || inputs != outputs) {
    block.shortcut = {name + ".downsample.0", name + ".downsample.1", inputs, outputs, 1, stride};
  }
  return block;
}

}  // namespace

StridePlace stride_place_from(std::string_view name) {
  if (name == "1x1") return StridePlace::in_1x1;
  if (name == "3x3") return StridePlace::in_3x3;
  throw Error("the stride is in the '1x1' (Caffe, Keras) or in the '3x3' (torchvision), not in '" +
              std::string(name) + "'");
}

const char* name_of(StridePlace place) { return place == StridePlace::in_1x1 ? "1x1" : "3x3"; }

const std::vector<std::string>& architecture_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    list.reserve(kStages.size());
    for (const Stages& stages : kStages) list.emplace_back(stages.name);
    return list;
  }();
  return names;
}

Architecture make_architecture(std::string_view name, StridePlace stride) {
  const auto found = std::find_if(kStages.begin(), kStages.end(),
                                  [&](const Stages& stages) { return name == stages.name; });
  if (found == kStages.end()) {
    std::string known;
    for (const std::string& one : architecture_names()) known += (known.empty() ? "" : ", ") + one;
    throw Error("there is no architecture '" + std::string(name) + "': " + known);
  }
  Architecture architecture{found->name, {"conv1", "bn1", 3, found->width, 7, 2}, {}};
  std::size_t inputs = found->width;
  for (std::size_t stage = 0; stage < found->depths.size(); ++stage) {
    for (std::size_t block = 0; block < found->depths[stage]; ++block) {
      architecture.blocks.push_back(make_block(
          "layer" + std::to_string(stage + 1) + "." + std::to_string(block), found->bottleneck,
          inputs, found->width << stage, stage > 0 && block == 0 ? 2 : 1, stride));
      inputs = architecture.channels();
    }
  }
  return architecture;
}

}  // namespace diml
