#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "diml/learn/grids.h"
#include "diml/matcher.h"

namespace diml::learn {

enum class MeasureKind : std::uint8_t {
  global,      // of the pooled vectors
  structural,  // of the cells, each pair of cells weighed by the transport plan
  blended,     // the mean of both; paper, section 3.4
};
MeasureKind measure_kind_from(std::string_view name);
const char* name_of(MeasureKind kind);

enum class PlanGradient : std::uint8_t {
  constant,  // the plan is a constant for the gradient; it comes from the matcher that searches
  unrolled,  // the gradient flows through the Sinkhorn iterations; slow, and large in memory
};
PlanGradient plan_gradient_from(std::string_view name);
const char* name_of(PlanGradient gradient);

struct MeasureParams {
  MeasureKind kind = MeasureKind::global;
  PlanGradient plan_gradient = PlanGradient::constant;
  MatchParams match{};
  std::string matcher = "auto";
  int threads = 0;
};

// How alike or unlike every x and every y are: [x.size(), y.size()], differentiable. Losses know
// nothing of transport: they ask a measure.
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
  // Euclidean, of unit vectors. Of pairs, [P, 2] int64 into x and y, alone: [P].
  torch::Tensor distance(const Grids& x, const Grids& y) const;
  torch::Tensor distance(const Grids& x, const Grids& y, const torch::Tensor& pairs) const;
  // var(x - y) / var(x) over the dimensions: noise against signal, with x as the anchor.
  torch::Tensor noise(const Grids& x, const Grids& y) const;
  torch::Tensor noise(const Grids& x, const Grids& y, const torch::Tensor& pairs) const;

  // Unrolled plans take memory for every iteration. What the largest question so far takes at most
  // and what was free then, in words; "" where there was none. A question for which there is no
  // room throws before it begins.
  const std::string& unrolled_memory() const { return unrolled_memory_; }

  // Spent in finding plans since the measure was made; on a GPU in asking for them.
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
