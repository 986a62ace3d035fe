#include "proxies.h"

#include <algorithm>
#include <cmath>

#include "diml/random.h"

namespace diml::learn {
namespace {

constexpr std::uint64_t kCentres = 0x70726f78;
constexpr std::uint64_t kDeviations = 0x63656c6c;

torch::Tensor normals(at::IntArrayRef shape, std::uint64_t seed) {
  torch::Tensor values = torch::empty(shape, torch::kFloat32);
  Random random(seed);
  auto* data = values.data_ptr<float>();
  for (std::int64_t k = 0; k < values.numel(); ++k) data[k] = static_cast<float>(random.normal());
  return values;
}

}  // namespace

Proxies::Proxies(std::string name, std::int64_t count, const LossContext& context,
                 double learning_rate)
    : name_(std::move(name)), has_cells_(context.cells > 0), learning_rate_(learning_rate) {
  const std::int64_t cells = std::max<std::int64_t>(1, context.cells);
  const torch::Tensor centres =
      normals({count, 1, context.dim}, mixed_seed(context.seed, kCentres, 0));
  torch::Tensor deviations =
      normals({count, cells, context.dim}, mixed_seed(context.seed, kDeviations, 0));
  deviations -= deviations.mean(1, true);
  // About unit length: what a learning rate does depends on it.
  const double scale = 1.0 / std::sqrt(static_cast<double>(context.dim));
  value_ = ((centres + deviations) * scale).requires_grad_(true);
}

Grids Proxies::grids() const {
  Grids grids;
  const torch::Tensor mean = value_.mean(1);
  grids.norms = mean.norm(2, 1);
  grids.globals = unit(mean);
  if (has_cells_) grids.cells = unit(value_);
  return grids;
}

torch::Tensor cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels) {
  return torch::nn::functional::cross_entropy(logits, labels);
}

}  // namespace diml::learn
