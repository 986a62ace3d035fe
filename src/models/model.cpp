#include "models/model.h"

#include <charconv>
#include <cmath>

#include "base/random.h"
#include "diml/error.h"
#include "fold.h"
#include "names.h"

namespace diml {
namespace {

// Prefix of the metadata's keys, so that they do not collide with those of other programs.
const std::string kPrefix = "diml.";

template <typename Draw>
Tensor random_tensor(std::vector<std::size_t> shape, const Draw& draw) {
  std::size_t count = 1;
  for (const std::size_t size : shape) count *= size;
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(draw());
  return make_tensor(std::move(shape), values);
}

Tensor constant(std::size_t count, float value) {
  return make_tensor({count}, std::vector<float>(count, value));
}

}  // namespace

std::size_t Model::output_channels() const {
  const auto projection = tensors.find("projection.weight");
  if (projection == tensors.end()) return make_architecture(architecture, stride).channels();
  return projection->second.shape.empty() ? 0 : projection->second.shape[0];
}

std::vector<std::string> expected_tensors(const Model& model) {
  std::vector<std::string> names;
  for (const ConvolutionLayer& layer :
       layers_of(make_architecture(model.architecture, model.stride))) {
    names.push_back(layer.name + ".weight");
    for (const char* part : {".weight", ".bias", ".running_mean", ".running_var"}) {
      names.push_back(layer.norm + part);
    }
  }
  return names;
}

void check_tensors(const Model& model) {
  for (const ConvolutionLayer& layer :
       layers_of(make_architecture(model.architecture, model.stride))) {
    tensor_of(model, layer.name + ".weight",
              {layer.outputs, layer.inputs, layer.kernel, layer.kernel});
    for (const char* part : {".weight", ".bias", ".running_mean", ".running_var"}) {
      tensor_of(model, layer.norm + part, {layer.outputs});
    }
  }
  if (!model.has_projection()) return;
  const ConvolutionLayer layer = projection_layer(model);
  tensor_of(model, "projection.weight", {layer.outputs, layer.inputs});
  tensor_of(model, "projection.bias", {layer.outputs});
}

Model load_model(const std::string& path) {
  Weights weights = read_safetensors(path);
  try {
    const auto get = [&](const char* name) -> const std::string& {
      const auto found = weights.metadata.find(kPrefix + name);
      if (found == weights.metadata.end()) {
        throw Error(ErrorKind::bad_input, "does not name its architecture: import it",
                    "import_model");
      }
      return found->second;
    };
    Model model;
    model.architecture = get("architecture");
    model.stride = stride_place_from(get("stride"));
    const std::string& epsilon = get("epsilon");
    const auto end =
        std::from_chars(epsilon.data(), epsilon.data() + epsilon.size(), model.epsilon);
    if (end.ec != std::errc() || !(model.epsilon > 0.0)) {
      throw Error(ErrorKind::damaged,
                  "the epsilon of BatchNorm is '" + epsilon + "', not a number above 0");
    }
    std::map<std::string, std::string> preprocessing;
    for (const auto& [name, value] : to_text(Preprocessing{})) {
      preprocessing[name] = get(name.c_str());
    }
    from_text(preprocessing, model.preprocessing);
    model.provenance = get("provenance");
    std::map<std::string, std::string> own;
    for (const auto& [name, value] : weights.metadata) {
      if (name.starts_with(kPrefix)) own[name.substr(kPrefix.size())] = value;
    }
    model.calibration = calibration_from(own);
    model.tensors = std::move(weights.tensors);
    check_tensors(model);
    return model;
  } catch (const Error& error) {
    throw with_context(error, path + ": ");
  }
}

void save_model(const std::string& path, const Model& model) {
  Weights weights;
  weights.tensors = model.tensors;
  weights.metadata = {{"format", "pt"},  // as other readers of .safetensors expect
                      {kPrefix + "architecture", model.architecture},
                      {kPrefix + "stride", name_of(model.stride)},
                      {kPrefix + "provenance", model.provenance}};
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, model.epsilon);
  weights.metadata[kPrefix + "epsilon"] = std::string(digits, end.ptr);
  for (const auto& [name, value] : to_text(model.preprocessing)) {
    weights.metadata[kPrefix + name] = value;
  }
  if (model.calibration) {
    for (const auto& [name, value] : to_text(*model.calibration)) {
      weights.metadata[kPrefix + name] = value;
    }
  }
  write_safetensors(path, weights);
}

void add_projection(Model& model, std::size_t dim, std::uint64_t seed) {
  const std::size_t channels = make_architecture(model.architecture, model.stride).channels();
  const double bound = std::sqrt(1.0 / static_cast<double>(channels));
  Random random(seed);
  const auto draw = [&] { return random.uniform(-bound, bound); };
  model.tensors["projection.weight"] = random_tensor({dim, channels}, draw);
  model.tensors["projection.bias"] = random_tensor({dim}, draw);
}

std::uint64_t starting_seed(std::uint64_t seed_of_run) {
  constexpr std::uint64_t kWeights = 3;  // a stream of random numbers of its own in a run
  return mixed_seed(seed_of_run, kWeights, 0);
}

Model make_model(std::string_view architecture, StridePlace stride, std::size_t dim,
                 std::uint64_t seed) {
  Model model;
  model.architecture = architecture;
  model.stride = stride;
  model.provenance = "random weights, seed " + std::to_string(seed);
  if (architecture == "small") {
    model.preprocessing.resize = 128;
    model.preprocessing.crop = 112;
  }
  Random random(seed);
  for (const ConvolutionLayer& layer : layers_of(make_architecture(architecture, stride))) {
    const std::size_t fan_in = layer.inputs * layer.kernel * layer.kernel;
    const double deviation = std::sqrt(2.0 / static_cast<double>(fan_in));
    model.tensors[layer.name + ".weight"] =
        random_tensor({layer.outputs, layer.inputs, layer.kernel, layer.kernel},
                      [&] { return deviation * random.normal(); });
    model.tensors[layer.norm + ".weight"] = constant(layer.outputs, 1.0F);
    model.tensors[layer.norm + ".bias"] = constant(layer.outputs, 0.0F);
    model.tensors[layer.norm + ".running_mean"] = constant(layer.outputs, 0.0F);
    model.tensors[layer.norm + ".running_var"] = constant(layer.outputs, 1.0F);
  }
  if (dim > 0) add_projection(model, dim, seed + 1);
  return model;
}

}  // namespace diml
