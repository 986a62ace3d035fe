#include <algorithm>
#include <filesystem>
#include <set>

#include "base/sha256.h"
#include "diml/error.h"
#include "models/model.h"
#include "names.h"

namespace diml {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Counters of training, and the classifier, which the method does not use.
bool is_left_out(const std::string& name) {
  return ends_with(name, ".num_batches_tracked") || name.rfind("fc.", 0) == 0 ||
         name.rfind("last_linear.", 0) == 0 || name.rfind("head.", 0) == 0;
}

[[noreturn]] void refuse_several(const std::string& one, const std::string& other) {
  throw Error("holds several networks ('" + one + "', '" + other +
              "'): save the one that you need by itself");
}

// The prefix of the network's own names: "module.", "state_dict.", "model.backbone." ...
std::string prefix_of(const std::map<std::string, Tensor>& tensors) {
  const std::string first = "conv1.weight";
  std::string prefix;
  bool found = false;
  for (const auto& [name, tensor] : tensors) {
    // Blocks have a conv1 too; the stem's is the one with three input channels.
    if (!ends_with(name, first) || tensor.shape.size() != 4 || tensor.shape[1] != 3) continue;
    if (found) refuse_several(prefix + first, name);
    prefix = name.substr(0, name.size() - first.size());
    found = true;
  }
  if (!found) {
    throw Error(
        "is not a residual network with torchvision's or Keras' names: it has no 'conv1.weight' "
        "with three input channels");
  }
  return prefix;
}

std::map<std::string, Tensor> from_torch(std::map<std::string, Tensor>&& tensors) {
  const std::string prefix = prefix_of(tensors);
  std::map<std::string, Tensor> kept;
  for (auto& [name, tensor] : tensors) {
    if (name.rfind(prefix, 0) != 0) continue;
    const std::string own = name.substr(prefix.size());
    if (is_left_out(own)) continue;
    kept[own] = tensor.type == TensorType::float32 ? std::move(tensor)
                                                   : make_tensor(tensor.shape, tensor.floats());
  }
  return kept;
}

// The architecture whose arrays these are, by their names alone; shapes are checked afterwards.
std::string recognised(const Model& model) {
  std::set<std::string> present;
  for (const auto& [name, tensor] : model.tensors) {
    if (name.rfind("projection.", 0) != 0) present.insert(name);
  }
  std::string nearest;
  std::vector<std::string> difference;
  for (const std::string& name : architecture_names()) {
    Model candidate;
    candidate.architecture = name;
    const std::vector<std::string> list = expected_tensors(candidate);
    const std::set<std::string> expected(list.begin(), list.end());
    std::vector<std::string> differs;
    std::set_symmetric_difference(present.begin(), present.end(), expected.begin(), expected.end(),
                                  std::back_inserter(differs));
    if (differs.empty()) return name;
    if (nearest.empty() || differs.size() < difference.size()) {
      nearest = name;
      difference = std::move(differs);
    }
  }
  const std::string& odd = difference.front();
  throw Error(
      "is none of the known networks: nearest is " + nearest + ", " +
      (present.contains(odd) ? "which has no '" + odd + "'" : "but '" + odd + "' is missing") +
      (difference.size() > 1 ? " (and " + std::to_string(difference.size() - 1) + " more differ)"
                             : ""));
}

std::string fingerprint(const std::string& path) {
  namespace fs = std::filesystem;
  std::string name = fs::path(path).lexically_normal().filename().string();
  if (fs::is_directory(path)) return name;
  return name + ", sha256 " + sha256_of_file(path);
}

}  // namespace

Model import_model(const std::string& path, const ImportParams& params) {
  Weights weights = read_weights(path);
  // These name the file in their messages; what follows does not.
  const bool is_own = weights.metadata.contains("diml.architecture");
  Model model = is_own ? load_model(path) : Model();
  const std::string origin = is_own ? "" : fingerprint(path);
  try {
    if (!is_own && weights.tensors.contains("bn_conv1/gamma")) {
      model.tensors = from_keras(weights.tensors);
      model.stride = StridePlace::in_1x1;
      model.epsilon = 1.001e-5;
      model.preprocessing.channels = ChannelOrder::bgr;
      model.preprocessing.mean = {103.939F, 116.779F, 123.68F};
      model.preprocessing.deviation = {1.0F, 1.0F, 1.0F};
      model.provenance = "Keras weights from " + origin;
    } else if (!is_own) {
      model.tensors = from_torch(std::move(weights.tensors));
      model.provenance = "PyTorch weights from " + origin;
    }
    if (params.stride) model.stride = *params.stride;
    from_text(params.preprocessing, model.preprocessing);
    model.architecture = recognised(model);
    check_tensors(model);
  } catch (const Error& error) {
    throw with_context(error, path + ": ");
  }
  return model;
}

}  // namespace diml
