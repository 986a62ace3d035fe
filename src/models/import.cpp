#include <algorithm>
#include <filesystem>
#include <set>

#include "base/sha256.h"
#include "diml/error.h"
#include "families.h"
#include "models/model.h"
#include "models/model_config.h"
#include "names.h"
#include "vit.h"

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
        "is neither a residual network with torchvision's or Keras' names nor a transformer with "
        "those of timm, torchvision or Hugging Face: it has no 'conv1.weight' and no "
        "'patch_embed.proj.weight' with three input channels");
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

// The residual network whose arrays these are, by their names alone; shapes are checked afterwards.
std::string recognised(const Model& model) {
  std::set<std::string> present;
  for (const auto& [name, tensor] : model.tensors) {
    if (name.rfind("projection.", 0) != 0) present.insert(name);
  }
  std::string nearest;
  std::vector<std::string> difference;
  for (const std::string& name : resnet::names()) {
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

// An array that the architecture does not have would be ignored without a word.
void expect_no_others(const Model& model) {
  const std::vector<std::string> list = expected_tensors(model);
  const std::set<std::string> expected(list.begin(), list.end());
  for (const auto& [name, tensor] : model.tensors) {
    if (name.starts_with("projection.") || expected.contains(name)) continue;
    throw Error("has '" + name + "', which " + model.architecture + " has not");
  }
}

std::string fingerprint(const std::string& path) {
  namespace fs = std::filesystem;
  std::string name = fs::path(path).lexically_normal().filename().string();
  if (fs::is_directory(path)) return name;
  return name + ", sha256 " + sha256_of_file(path);
}

// The shape of a transformer, without what its arrays do not show.
std::string shape_of(vit::Vit vit) {
  const vit::Vit plain;
  vit.hidden = vit.hidden_width();
  vit.activation = plain.activation;
  vit.epsilon = plain.epsilon;
  vit.resize = plain.resize;
  vit.photos = plain.photos;
  return vit::description(vit);
}

// Names the transformer, and says in its origin what had to be guessed.
void recognise_transformer(Model& model, const ModelConfig& config) {
  vit::Vit found = vit::from_arrays(model.tensors);
  if (config.heads) found.heads = *config.heads;
  if (config.epsilon) found.epsilon = *config.epsilon;
  if (config.activation) found.activation = activation_called(*config.activation);
  std::vector<std::string> fitting;
  for (const vit::Named& one : vit::named()) {
    const vit::Vit known = vit::parsed(one.description);
    if (shape_of(known) != shape_of(found)) continue;
    if (config.activation && known.activation != found.activation) continue;
    if (config.epsilon && known.epsilon != found.epsilon) continue;
    fitting.emplace_back(one.name);
  }
  if (fitting.empty()) {
    if (found.heads == 0) {
      throw Error(ErrorKind::bad_input,
                  "has " + std::to_string(found.width) +
                      " channels, and its arrays do not say in how many heads: name its "
                      "architecture, as in '" +
                      vit::description({.width = found.width, .heads = 1}) + ",...'",
                  "architecture");
    }
    model.architecture = vit::description(found);
    if (config.files.empty()) {
      model.provenance += "; architecture and preprocessing by the arrays' shapes alone";
    }
    return;
  }
  model.architecture = fitting.front();
  if (fitting.size() == 1) return;
  model.provenance += "; taken for " + fitting.front();
  for (std::size_t k = 1; k < fitting.size(); ++k) model.provenance += ", may be " + fitting[k];
}

// A name that the user or the configuration gives.
std::optional<std::string> named_architecture(const ImportParams& params,
                                              const ModelConfig& config) {
  if (params.architecture) return params.architecture;
  const std::vector<std::string>& known = architecture_names();
  if (config.architecture &&
      std::find(known.begin(), known.end(), *config.architecture) != known.end()) {
    return config.architecture;
  }
  return {};
}

void tell_origin(const ModelConfig& config, const std::string& architecture, std::string& text) {
  if (config.files.empty()) return;
  text += "; configured by " + config.files;
  if (config.architecture && *config.architecture != architecture) {
    text += ", which names " + *config.architecture;
  }
  for (const std::string& note : config.notes) text += "; " + note;
}

// The one file of weights in a folder of Hugging Face; anything else is left as it is.
std::string weights_in(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  if (!fs::is_directory(path, unknown) || fs::exists(fs::path(path) / "model.json", unknown)) {
    return path;
  }
  for (const char* name : {"model.safetensors", "open_clip_model.safetensors",
                           "open_clip_pytorch_model.safetensors", "pytorch_model.bin"}) {
    const fs::path file = fs::path(path) / name;
    if (fs::exists(file, unknown)) return file.string();
  }
  return path;
}

}  // namespace

void refuse_several(const std::string& one, const std::string& other) {
  throw Error("holds several networks ('" + one + "', '" + other +
              "'): save the one that you need by itself");
}

Model import_model(const std::string& given, const ImportParams& params) {
  const std::string path = weights_in(given);
  Weights weights = read_weights(path);
  // These name the file in their messages; what follows does not.
  const bool is_own = weights.metadata.contains("diml.architecture");
  Model model = is_own ? load_model(path) : Model();
  const std::string origin = is_own ? "" : fingerprint(path);
  const bool is_keras = weights.tensors.contains("bn_conv1/gamma");
  const ModelConfig config = is_own || is_keras ? ModelConfig() : config_beside(path);
  const std::optional<std::string> architecture = named_architecture(params, config);
  try {
    if (!is_own && is_keras) {
      model.tensors = from_keras(weights.tensors);
      model.stride = StridePlace::in_1x1;
      model.epsilon = 1.001e-5;
      model.preprocessing.channels = ChannelOrder::bgr;
      model.preprocessing.mean = {103.939F, 116.779F, 123.68F};
      model.preprocessing.deviation = {1.0F, 1.0F, 1.0F};
      model.provenance = "Keras weights from " + origin;
    } else if (auto transformer = is_own ? std::nullopt : vit::from_others(weights.tensors)) {
      model.tensors = std::move(*transformer);
      model.provenance = "PyTorch weights from " + origin;
      if (architecture) {
        model.architecture = *architecture;
      } else {
        recognise_transformer(model, config);
      }
      model.preprocessing = make_architecture(model.architecture, model.stride).preprocessing;
    } else if (!is_own) {
      model.tensors = from_torch(std::move(weights.tensors));
      model.provenance = "PyTorch weights from " + origin;
    }
    if (params.stride) model.stride = *params.stride;
    // Together: a crop may fit into the other's short side alone.
    std::map<std::string, std::string> preprocessing = params.preprocessing;
    preprocessing.insert(config.preprocessing.begin(), config.preprocessing.end());
    from_text(preprocessing, model.preprocessing);
    if (architecture) model.architecture = *architecture;
    if (model.architecture.empty()) model.architecture = recognised(model);
    tell_origin(config, model.architecture, model.provenance);
    check_tensors(model);
    expect_no_others(model);
  } catch (const Error& error) {
    throw with_context(error, path + ": ");
  }
  return model;
}

}  // namespace diml
