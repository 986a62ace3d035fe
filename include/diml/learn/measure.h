#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <torch/torch.h>

#include "diml/embedding.h"
#include "diml/matcher.h"

namespace diml::learn {

// The grids of a batch, or of proxies, as the losses see them: differentiable.
struct Grids {
  torch::Tensor globals;  // [N, D], unit vectors
  torch::Tensor norms;    // [N], the lengths of the globals before they became unit vectors
  torch::Tensor cells;    // [N, R, D], unit vectors; undefined where no measure needs them

  std::int64_t size() const { return globals.size(0); }
  std::int64_t dim() const { return globals.size(1); }
};

// L2-normalised along the last axis; a zero vector stays zero.
torch::Tensor unit(const torch::Tensor& vectors);

// map: [N, D, H, W], projected. grid: 0 for globals alone. global: [N, D], the network's own global
// vectors; undefined where they are the mean of the map.
Grids make_grids(const torch::Tensor& map, std::size_t grid, PoolingRule rule,
                 const torch::Tensor& global = {});

enum class MeasureKind : std::uint8_t {
  global,      // of the pooled vectors
  structural,  // of the cells, each pair of cells weighted by the transport plan
  blended,     // the mean of both; paper, section 3.4
};
MeasureKind measure_kind_from(std::string_view name);
const char* name_of(MeasureKind kind);

enum class PlanGradient : std::uint8_t {
  constant,  // the plan is a constant for the gradient; it comes from the matcher that searches
  unrolled,  // the gradient flows through the Sinkhorn iterations; slow, and needs much memory
};
PlanGradient plan_gradient_from(std::string_view name);
const char* name_of(PlanGradient gradient);

struct MeasureParams {
  MeasureKind kind = MeasureKind::global;
  PlanGradient plan_gradient = PlanGradient::constant;
  MatchParams match{};
  Backend backend = Backend::fastest;  // of constant plans
  int threads = 0;
};

// Similarities or distances of every x and every y: [x.size(), y.size()], differentiable. Losses
// call a measure; they contain no code for transport.
class PairMeasure {
 public:
  explicit PairMeasure(MeasureParams params = {});
  ~PairMeasure();
  PairMeasure(const PairMeasure&) = delete;
  PairMeasure& operator=(const PairMeasure&) = delete;

  MeasureKind kind() const { return params_.kind; }
  bool needs_cells() const { return params_.kind != MeasureKind::global; }

  // Cosine.
  torch::Tensor similarity(const Grids& x, const Grids& y) const;
  // Euclidean, of unit vectors. Only of given pairs, [P, 2] int64 indices into x and y: [P].
  torch::Tensor distance(const Grids& x, const Grids& y) const;
  torch::Tensor distance(const Grids& x, const Grids& y, const torch::Tensor& pairs) const;
  // var(x - y) / var(x) over the dimensions: noise against signal, with x as the anchor.
  torch::Tensor noise(const Grids& x, const Grids& y) const;
  torch::Tensor noise(const Grids& x, const Grids& y, const torch::Tensor& pairs) const;

  // Unrolled plans need memory for every iteration. This text has the upper bound for the largest
  // call so far and the memory that was free then; "" before the first call. A call that does not
  // fit into memory throws before it starts.
  const std::string& unrolled_memory() const { return unrolled_memory_; }

  // Time of computing plans since the measure was created; on a GPU, of launching them.
  double plan_seconds() const { return plan_seconds_; }

 private:
  enum class Local : std::uint8_t { cosine, euclidean, noise };
  // Means and variances over the dimensions of vectors.
  struct Spread {
    torch::Tensor mean;
    torch::Tensor variance;
  };
  static torch::Tensor apply(Local local, std::int64_t dim, const torch::Tensor& product,
                             const Spread& of_x, const Spread& of_y);
  static Spread spread_of(Local local, const torch::Tensor& vectors, at::IntArrayRef shape);
  torch::Tensor measured(const Grids& x, const Grids& y, Local local) const;
  torch::Tensor measured(const Grids& x, const Grids& y, const torch::Tensor& pairs,
                         Local local) const;
  // similarities: of the cells, [x, y, R_x, R_y] or, of pairs, [P, R_x, R_y]. Plans of that shape.
  torch::Tensor plans(const Grids& x, const Grids& y, const torch::Tensor& pairs,
                      const torch::Tensor& similarities) const;
  void expect_room(const torch::Tensor& similarities) const;

  MeasureParams params_;
  std::unique_ptr<Matcher> matcher_;
  mutable double plan_seconds_ = 0.0;
  mutable double unrolled_bytes_ = 0.0;
  mutable std::string unrolled_memory_;
};

}  // namespace diml::learn
