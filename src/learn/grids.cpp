#include "diml/learn/measure.h"
#include "models/grid_pooling.h"

#include <map>
#include <mutex>
#include <tuple>

namespace diml::learn {
namespace {

torch::Tensor pooling_tensor(std::int64_t size, std::size_t grid, PoolingRule rule) {
  const std::vector<float> matrix = pooling_matrix(static_cast<std::size_t>(size), grid, rule);
  return torch::tensor(matrix).view({static_cast<std::int64_t>(grid), size});
}

// Both axes together, [H * W, G * G]: one large product instead of thousands of tiny ones. Cached:
// an upload would block the host until a GPU has finished all queued work.
torch::Tensor pooling_of(const torch::Tensor& map, std::size_t grid, PoolingRule rule) {
  using Key = std::tuple<std::int64_t, std::int64_t, std::size_t, PoolingRule, std::string,
                         torch::ScalarType>;
  static std::mutex mutex;
  // Never destroyed: at the end of the process the GPU is released first.
  static auto& kept = *new std::map<Key, torch::Tensor>;
  const Key key{map.size(2), map.size(3), grid, rule, map.device().str(), map.scalar_type()};
  const std::lock_guard lock(mutex);
  const auto found = kept.find(key);
  if (found != kept.end()) return found->second;
  const c10::InferenceMode for_gradients_too(false);
  const torch::Tensor rows = pooling_tensor(map.size(2), grid, rule);
  const torch::Tensor columns = pooling_tensor(map.size(3), grid, rule);
  return kept[key] = torch::kron(rows, columns).t().to(map.options());
}

}  // namespace

torch::Tensor unit(const torch::Tensor& vectors) {
  return torch::nn::functional::normalize(vectors,
                                          torch::nn::functional::NormalizeFuncOptions().dim(-1));
}

Grids make_grids(const torch::Tensor& map, std::size_t grid, PoolingRule rule,
                 const torch::Tensor& global) {
  Grids grids;
  const torch::Tensor raw = global.defined() ? global : map.mean({2, 3});
  grids.norms = raw.norm(2, 1);
  grids.globals = unit(raw);
  if (grid > 0) {
    const torch::Tensor pooled =
        torch::matmul(map.flatten(2), pooling_of(map, grid, rule));  // [N, D, G * G]
    grids.cells = unit(pooled.transpose(1, 2)).contiguous();
  }
  return grids;
}

}  // namespace diml::learn
