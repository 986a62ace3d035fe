#include "learn/trainable_network.h"

#include "base/amx.h"
#include "base/random.h"
#include "diml/error.h"
#include "finish.h"
#include "frozen_norm.h"
#include "graph.h"
#include "models/parts.h"
#include "tensors.h"

namespace diml::learn {
namespace {

// A GPU convolves fastest with channels last.
torch::Tensor in_layout_of(torch::Device device, const torch::Tensor& values) {
  if (!device.is_cuda() || values.dim() != 4) return values;
  return values.contiguous(torch::MemoryFormat::ChannelsLast);
}

bool is_statistic(ArrayRole role) { return role == ArrayRole::mean || role == ArrayRole::variance; }

}  // namespace

TrainableNetwork::TrainableNetwork(const Model& model, torch::Device device, Precision precision)
    : shape_(model),
      architecture_(make_architecture(model.architecture, model.stride)),
      device_(device),
      type_(precision == Precision::bfloat16 ? torch::kBFloat16 : torch::kFloat32) {
  avoid_broken_amx();
  if (!model.has_projection()) throw Error("a network to train needs a projection");
  architecture_ = projected(architecture_, model.output_channels());
  shape_.tensors.clear();
  for (const ArraySpec& array : architecture_.arrays) {
    torch::Tensor value =
        in_layout_of(device_, to_torch(model.tensors.at(array.name)).to(device_, torch::kFloat32));
    if (is_statistic(array.role)) {
      statistics_[array.name] = value;
    } else {
      parameters_[array.name] = value.set_requires_grad(true);
    }
  }
  for (const Operation& operation : architecture_.operations) {
    const auto* layer = std::get_if<Convolution>(&operation.kind);
    if (layer == nullptr || layer->norm.empty()) continue;
    normed_.push_back(*layer);
    place_[layer->name] = scales_.size();
    scales_.push_back(parameters_.at(layer->norm + ".weight"));
    shifts_.push_back(parameters_.at(layer->norm + ".bias"));
  }
  take_statistics();
  find_branches();
}

TrainableNetwork::~TrainableNetwork() = default;

void TrainableNetwork::find_branches() {
  const std::vector<std::size_t> parts = parts_of(architecture_);
  for (std::size_t k = 0; k < architecture_.map; ++k) {
    const Operation& operation = architecture_.operations[k];
    if (!operation.second || parts[k] == 0) continue;
    const auto* layer = std::get_if<Convolution>(&operation.kind);
    const auto* linear = std::get_if<Linear>(&operation.kind);
    if (layer == nullptr && linear == nullptr) continue;
    branch_[layer != nullptr ? layer->name : linear->name] = depths_.size();
    depths_.push_back(static_cast<double>(parts[k] - 1));
  }
  const double last = depths_.empty() ? 0.0 : depths_.back();
  for (double& depth : depths_) depth = last > 0.0 ? depth / last : 0.0;
}

std::map<std::string, std::size_t> TrainableNetwork::parts_behind() const {
  const std::vector<std::size_t> parts = parts_of(architecture_);
  const Architecture plain = make_architecture(architecture_.name, shape_.stride);
  const std::size_t last = parts[plain.map - 1];
  std::map<std::string, std::size_t> behind;
  for (std::size_t k = 0; k < plain.operations.size(); ++k) {
    for (const ArraySpec& array : arrays_of(plain.operations[k])) {
      if (parameters_.contains(array.name)) behind[array.name] = last - std::min(parts[k], last);
    }
  }
  return behind;
}

// [branches, photos]: 0 where a branch is left out, else what it counts. A photo's do not depend on
// how the batch is divided among processes.
torch::Tensor TrainableNetwork::kept_branches(const DropPath& drop, std::int64_t photos) const {
  std::vector<float> factors;
  for (std::size_t k = 0; k < depths_.size(); ++k) {
    const double rate = drop.rate * depths_[k];
    for (std::int64_t photo = 0; photo < photos; ++photo) {
      const std::uint64_t place = drop.first_place + static_cast<std::uint64_t>(photo);
      const bool left_out = Random(mixed_seed(drop.seed, k, place)).uniform() < rate;
      factors.push_back(left_out ? 0.0F : static_cast<float>(1.0 / (1.0 - rate)));
    }
  }
  return torch::tensor(factors)
      .view({static_cast<std::int64_t>(depths_.size()), photos})
      .to(device_, type_);
}

void TrainableNetwork::take_statistics() {
  if (normed_.empty()) return;
  std::vector<torch::Tensor> means;
  std::vector<torch::Tensor> variances;
  for (const Convolution& layer : normed_) {
    means.push_back(statistics_.at(layer.norm + ".running_mean"));
    variances.push_back(statistics_.at(layer.norm + ".running_var"));
  }
  norms_ = std::make_unique<FrozenNorms>(means, variances, shape_.epsilon);
}

torch::Tensor TrainableNetwork::convolved(const Convolution& layer,
                                          const torch::Tensor& map) const {
  return torch::conv2d(map, parameters_.at(layer.name + ".weight"), {},
                       static_cast<std::int64_t>(layer.stride),
                       static_cast<std::int64_t>(layer.padding()));
}

torch::Tensor TrainableNetwork::normalised(const Convolution& layer,
                                           const torch::Tensor& map) const {
  return torch::batch_norm(
      map, parameters_.at(layer.norm + ".weight"), parameters_.at(layer.norm + ".bias"),
      statistics_.at(layer.norm + ".running_mean"), statistics_.at(layer.norm + ".running_var"),
      /*training=*/false, 0.0, shape_.epsilon, /*cudnn_enabled=*/true);
}

// Casts where autocast would cast: the gradient passes through to the learnt arrays.
torch::Tensor TrainableNetwork::array(const std::string& name) const {
  return parameters_.at(name).to(type_);
}

FeatureMap TrainableNetwork::forward(const torch::Tensor& pixels, const DropPath& drop) const {
  torch::Tensor kept;
  if (drop.rate > 0.0 && !branch_.empty()) kept = kept_branches(drop, pixels.size(0));
  // Factors of each photo, for values with this many axes.
  const auto dropped = [&](const std::string& name, const torch::Tensor& values) {
    std::vector<std::int64_t> axes(static_cast<std::size_t>(values.dim()), 1);
    axes[0] = -1;
    const auto place = branch_.find(name);
    if (place == branch_.end()) return values;  // the pooling's
    return values * kept[static_cast<std::int64_t>(place->second)].view(axes);
  };
  FrozenNorms::Channels channels;
  if (norms_) channels = norms_->channels(scales_, shifts_, type_);
  const auto convolve = [&](const Convolution& layer, const torch::Tensor& input,
                            const Finish& finish) {
    if (layer.norm.empty()) {
      return finished(torch::conv2d(input, array(layer.name + ".weight"),
                                    layer.bias ? array(layer.name + ".bias") : torch::Tensor(),
                                    static_cast<std::int64_t>(layer.stride),
                                    static_cast<std::int64_t>(layer.padding())),
                      finish);
    }
    const std::size_t place = place_.at(layer.name);
    const torch::Tensor kernel =
        scaled_kernel(parameters_.at(layer.name + ".weight"), channels.factors[place], type_);
    const torch::Tensor& bias = channels.biases[place];
    const auto stride = static_cast<std::int64_t>(layer.stride);
    const auto padding = static_cast<std::int64_t>(layer.padding());
    if (kept.defined() && finish.shortcut.defined()) {
      return finished(dropped(layer.name, torch::conv2d(input, kernel, bias, stride, padding)),
                      finish);
    }
    // oneDNN adds the bias within the convolution.
    if (device_.is_cpu() || !finish.relu) {
      return finished(torch::conv2d(input, kernel, bias, stride, padding), finish);
    }
    return finished_convolution(input, kernel, bias, finish.shortcut, stride, padding);
  };
  Operators operators{convolve, [&](const std::string& name) { return array(name); }};
  if (kept.defined()) operators.branch = dropped;
  FeatureMap made = run_graph(architecture_, in_layout_of(device_, pixels.to(type_)), operators);
  made.map = made.map.to(torch::kFloat32);
  if (made.global.defined()) made.global = made.global.to(torch::kFloat32);
  return made;
}

void TrainableNetwork::calibrate(const torch::Tensor& pixels) {
  if (normed_.empty()) return;
  const torch::NoGradGuard no_gradient;
  const auto convolve = [&](const Convolution& layer, const torch::Tensor& input,
                            const Finish& finish) {
    const torch::Tensor map = convolved(layer, input);
    statistics_.at(layer.norm + ".running_mean").copy_(map.mean({0, 2, 3}));
    statistics_.at(layer.norm + ".running_var").copy_(map.var({0, 2, 3}, /*unbiased=*/false));
    return finished(normalised(layer, map), finish);
  };
  run_graph(architecture_, pixels,
            {convolve, [&](const std::string& name) { return parameters_.at(name); }});
  take_statistics();
}

Model TrainableNetwork::model() const {
  Model model = shape_;
  for (const auto* part : {&parameters_, &statistics_}) {
    for (const auto& [name, value] : *part) model.tensors[name] = from_torch(value);
  }
  return model;
}

void TrainableNetwork::load(const Model& model) {
  const torch::NoGradGuard no_gradient;
  for (auto* part : {&parameters_, &statistics_}) {
    for (auto& [name, value] : *part) {
      const auto found = model.tensors.find(name);
      if (found == model.tensors.end()) throw Error("the weights have no '" + name + "'");
      const torch::Tensor given = to_torch(found->second);
      if (given.sizes() != value.sizes()) {
        throw Error("the weights have '" + name + "' in another shape than the network");
      }
      value.copy_(given);
    }
  }
  take_statistics();
}

}  // namespace diml::learn
