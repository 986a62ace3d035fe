#include "diml/learn/grids.h"

namespace diml::learn {
namespace {

torch::Tensor pooling_tensor(std::int64_t size, std::size_t grid, PoolingRule rule,
                             const torch::TensorOptions& options) {
  const std::vector<float> matrix = pooling_matrix(static_cast<std::size_t>(size), grid, rule);
  return torch::tensor(matrix).view({static_cast<std::int64_t>(grid), size}).to(options);
}

}  // namespace

torch::Tensor unit(const torch::Tensor& vectors) {
  return torch::nn::functional::normalize(vectors,
                                          torch::nn::functional::NormalizeFuncOptions().dim(-1));
}

Grids make_grids(const torch::Tensor& map, std::size_t grid, PoolingRule rule) {
  Grids grids;
  const torch::Tensor raw = map.mean({2, 3});
  grids.norms = raw.norm(2, 1);
  grids.globals = unit(raw);
  if (grid > 0) {
    const torch::Tensor rows = pooling_tensor(map.size(2), grid, rule, map.options());
    const torch::Tensor columns = pooling_tensor(map.size(3), grid, rule, map.options());
    // [N, D, H, W] to [N, D, G, G] to [N, G * G, D].
    const torch::Tensor pooled = torch::matmul(torch::matmul(rows, map), columns.t());
    grids.cells = unit(pooled.flatten(2).transpose(1, 2)).contiguous();
  }
  return grids;
}

}  // namespace diml::learn
