#include <cctype>
#include <optional>

#include "base/npy.h"
#include "diml/error.h"
#include "names.h"

namespace diml {
namespace {

// "res3b_branch2a" becomes {"layer2.1.conv1", "layer2.1.bn1"}, "conv1" {"conv1", "bn1"}.
struct LayerNames {
  std::string convolution;
  std::string norm;
};

std::optional<LayerNames> layer_names(const std::string& keras) {
  if (keras == "conv1") return LayerNames{"conv1", "bn1"};
  // res<stage 2-5><block a-z>_branch<1 | 2a | 2b | 2c>
  if (keras.size() < 13 || keras.rfind("res", 0) != 0 || keras.substr(5, 7) != "_branch") return {};
  const char stage = keras[3];
  const char block = keras[4];
  const std::string branch = keras.substr(12);
  if (stage < '2' || stage > '5' || block < 'a' || block > 'z') return {};
  const std::string name =
      "layer" + std::to_string(stage - '1') + "." + std::to_string(block - 'a');
  if (branch == "1") return LayerNames{name + ".downsample.0", name + ".downsample.1"};
  if (branch.size() != 2 || branch[0] != '2' || branch[1] < 'a' || branch[1] > 'c') return {};
  const std::string number = std::to_string(branch[1] - 'a' + 1);
  return LayerNames{name + ".conv" + number, name + ".bn" + number};
}

[[noreturn]] void refuse_missing(const std::string& name, const std::string& companion) {
  throw Error("there is no '" + name + "' to go with '" + companion + "'");
}

[[noreturn]] void refuse_lengths(const std::string& bias, const std::string& mean) {
  throw Error("'" + bias + "' and '" + mean + "' differ in length");
}

Tensor oihw(const Tensor& hwio, const std::string& name) {
  if (hwio.shape.size() != 4) {
    throw Error("'" + name + "' is " + shape_text(hwio.shape) +
                ", not a kernel of four dimensions");
  }
  const std::size_t kernel = hwio.shape[0] * hwio.shape[1];
  const std::size_t inputs = hwio.shape[2];
  const std::size_t outputs = hwio.shape[3];
  const std::vector<float> from = hwio.floats();
  std::vector<float> to(from.size());
  for (std::size_t k = 0; k < kernel; ++k) {
    for (std::size_t i = 0; i < inputs; ++i) {
      for (std::size_t o = 0; o < outputs; ++o) {
        to[(o * inputs + i) * kernel + k] = from[(k * inputs + i) * outputs + o];
      }
    }
  }
  return make_tensor({outputs, inputs, hwio.shape[0], hwio.shape[1]}, to);
}

}  // namespace

std::map<std::string, Tensor> from_keras(const std::map<std::string, Tensor>& tensors) {
  std::map<std::string, Tensor> converted;
  for (const auto& entry : tensors) {
    const std::string& name = entry.first;
    const Tensor& kernel = entry.second;
    const std::size_t slash = name.rfind("/kernel");
    if (slash == std::string::npos) continue;
    const std::string layer = name.substr(0, slash);
    const std::optional<LayerNames> names = layer_names(layer);
    if (!names) continue;  // the classifier
    const std::string norm = layer == "conv1" ? "bn_conv1" : "bn" + layer.substr(3);
    const auto of_norm = [&](const char* part) {
      const auto found = tensors.find(norm + part);
      if (found == tensors.end()) refuse_missing(norm + part, name);
      return found->second.floats();
    };
    converted[names->convolution + ".weight"] = oihw(kernel, name);
    std::vector<float> mean = of_norm("/moving_mean");
    if (const auto bias = tensors.find(layer + "/bias"); bias != tensors.end()) {
      const std::vector<float> values = bias->second.floats();
      if (values.size() != mean.size()) refuse_lengths(layer + "/bias", norm + "/moving_mean");
      for (std::size_t c = 0; c < mean.size(); ++c) mean[c] -= values[c];
    }
    const auto put = [&](const char* part, const std::vector<float>& values) {
      converted[names->norm + part] = make_tensor({values.size()}, values);
    };
    put(".running_mean", mean);
    put(".running_var", of_norm("/moving_variance"));
    put(".weight", of_norm("/gamma"));
    put(".bias", of_norm("/beta"));
  }
  return converted;
}

}  // namespace diml
