#include "proxies.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace diml::learn {
namespace {

constexpr std::uint64_t kCentres = 0x70726f78;
constexpr std::uint64_t kDeviations = 0x63656c6c;

torch::Tensor drawn(ProxyStart start, at::IntArrayRef shape, std::uint64_t seed) {
  torch::Tensor values = torch::empty(shape, torch::kFloat32);
  const double of_dim = 1.0 / std::sqrt(static_cast<double>(shape.back()));
  Random random(seed);
  const auto number = [&] {
    switch (start) {
      case ProxyStart::unit:
        return random.normal() * of_dim;
      case ProxyStart::uniform:
        return random.uniform(-of_dim, of_dim);
      case ProxyStart::eighth:
        return random.normal() / 8.0;
    }
    return 0.0;
  };
  auto* data = values.data_ptr<float>();
  for (std::int64_t k = 0; k < values.numel(); ++k) data[k] = static_cast<float>(number());
  return values;
}

}  // namespace

Proxies::Proxies(std::string name, std::int64_t count, const LossContext& context,
                 double learning_rate, ProxyStart start)
    : name_(std::move(name)), has_cells_(context.cells > 0), learning_rate_(learning_rate) {
  const std::int64_t cells = std::max<std::int64_t>(1, context.cells);
  const torch::Tensor centres =
      drawn(start, {count, 1, context.dim}, mixed_seed(context.seed, kCentres, 0));
  torch::Tensor deviations =
      drawn(start, {count, cells, context.dim}, mixed_seed(context.seed, kDeviations, 0));
  deviations -= deviations.mean(1, true);
  value_ = (centres + deviations).requires_grad_(true);
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
