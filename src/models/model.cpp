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

// As the networks' authors begin: He's normal initialisation of convolutions, small matrices and
// tokens in transformers, residual branches with a scale that hardly count at first.
Tensor starting_array(const ArraySpec& array, Random& random) {
  constexpr double kSmall = 0.02;
  constexpr float kHardly = 1e-5F;
  const auto normal = [&](double deviation) {
    return random_tensor(array.shape, [&] { return deviation * random.normal(); });
  };
  const auto constant = [&](float value) {
    return random_tensor(array.shape, [&] { return value; });
  };
  switch (array.role) {
    case ArrayRole::kernel:
      return normal(
          std::sqrt(2.0 / static_cast<double>(array.shape[1] * array.shape[2] * array.shape[3])));
    case ArrayRole::matrix:
    case ArrayRole::token:
      return normal(kSmall);
    case ArrayRole::norm_scale:
    case ArrayRole::variance:
      return constant(1.0F);
    case ArrayRole::layer_scale:
      return constant(kHardly);
    case ArrayRole::bias:
    case ArrayRole::mean:
      break;
  }
  return constant(0.0F);
}

}  // namespace

std::size_t Model::output_channels() const {
  const auto projection = tensors.find("projection.weight");
  if (projection == tensors.end()) return make_architecture(architecture, stride).channels();
  return projection->second.shape.empty() ? 0 : projection->second.shape[0];
}

std::vector<std::string> expected_tensors(const Model& model) {
  std::vector<std::string> names;
  for (const ArraySpec& array : make_architecture(model.architecture, model.stride).arrays) {
    names.push_back(array.name);
  }
  return names;
}

void check_tensors(const Model& model) {
  const Architecture architecture = make_architecture(model.architecture, model.stride);
  for (const ArraySpec& array : architecture.arrays) tensor_of(model, array.name, array.shape);
  if (!model.has_projection()) return;
  const std::size_t dim = model.output_channels();
  tensor_of(model, "projection.weight", {dim, architecture.channels()});
  tensor_of(model, "projection.bias", {dim});
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
    model.provenance = get("provenance");
    std::map<std::string, std::string> own;
    for (const auto& [name, value] : weights.metadata) {
      if (name.starts_with(kPrefix)) own[name.substr(kPrefix.size())] = value;
    }
    const auto preprocessing = preprocessing_in(own);
    if (!preprocessing) {
      throw Error(ErrorKind::damaged, "does not say how photos are prepared: import it again");
    }
    from_text(*preprocessing, model.preprocessing);
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
  const Architecture described = make_architecture(architecture, stride);
  Model model;
  model.architecture = architecture;
  model.stride = stride;
  model.preprocessing = described.preprocessing;
  model.provenance = "random weights, seed " + std::to_string(seed);
  Random random(seed);
  for (const ArraySpec& array : described.arrays) {
    model.tensors[array.name] = starting_array(array, random);
  }
  if (dim > 0) add_projection(model, dim, seed + 1);
  return model;
}

}  // namespace diml
