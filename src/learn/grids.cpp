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
    // Both axes at once, [H * W, G * G]: one large product instead of thousands of tiny ones.
    const torch::Tensor both = torch::kron(rows, columns).t();
    const torch::Tensor pooled = torch::matmul(map.flatten(2), both);  // [N, D, G * G]
    grids.cells = unit(pooled.transpose(1, 2)).contiguous();
  }
  return grids;
}

}  // namespace diml::learn
