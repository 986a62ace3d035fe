#include "diml/learn/measure.h"

#include <optional>

#include "base/enum_names.h"
#include "base/free_memory.h"
#include "base/stopwatch.h"
#include "device.h"
#include "diml/error.h"
#include "plans.h"
#include "unrolled.h"

namespace diml::learn {
namespace {

// Below it a squared distance counts as 0: the gradient of its root would be infinite.
constexpr double kNoDistance = 1e-10;

constexpr EnumNames<3> kMeasures = {"global", "structural", "blended"};
constexpr EnumNames<2> kPlanGradients = {"constant", "unrolled"};

}  // namespace

MeasureKind measure_kind_from(std::string_view name) {
  return value_in<MeasureKind>(kMeasures, name, "measure");
}

const char* name_of(MeasureKind kind) { return name_in(kMeasures, kind); }

PlanGradient plan_gradient_from(std::string_view name) {
  return value_in<PlanGradient>(kPlanGradients, name, "plan_gradient");
}

const char* name_of(PlanGradient gradient) { return name_in(kPlanGradients, gradient); }

PairMeasure::PairMeasure(MeasureParams params)
    : params_(std::move(params)),
      matcher_(make_matcher(params_.backend, {.threads = params_.threads})) {}

PairMeasure::~PairMeasure() = default;

torch::Tensor PairMeasure::similarity(const Grids& x, const Grids& y) const {
  return measured(x, y, Local::cosine);
}

torch::Tensor PairMeasure::distance(const Grids& x, const Grids& y) const {
  return measured(x, y, Local::euclidean);
}

torch::Tensor PairMeasure::distance(const Grids& x, const Grids& y,
                                    const torch::Tensor& pairs) const {
  return measured(x, y, pairs, Local::euclidean);
}

torch::Tensor PairMeasure::noise(const Grids& x, const Grids& y) const {
  return measured(x, y, Local::noise);
}

torch::Tensor PairMeasure::noise(const Grids& x, const Grids& y, const torch::Tensor& pairs) const {
  return measured(x, y, pairs, Local::noise);
}

// The relation of two vectors, computed from their product; the spreads broadcast.
torch::Tensor PairMeasure::apply(Local local, std::int64_t dim, const torch::Tensor& product,
                                 const Spread& of_x, const Spread& of_y) {
  if (local == Local::cosine) return product;
  if (local == Local::euclidean) return (2.0 - 2.0 * product).clamp_min(kNoDistance).sqrt();
  const torch::Tensor covariance = product / static_cast<double>(dim) - of_x.mean * of_y.mean;
  return (of_x.variance + of_y.variance - 2.0 * covariance) / of_x.variance.clamp_min(kNoDistance);
}

// [..., D] to `shape` each; nothing where they are not needed.
PairMeasure::Spread PairMeasure::spread_of(Local local, const torch::Tensor& vectors,
                                           at::IntArrayRef shape) {
  if (local != Local::noise) return {};
  const torch::Tensor mean = vectors.mean(-1);
  const torch::Tensor variance = (vectors * vectors).mean(-1) - mean * mean;
  return {mean.reshape(shape), variance.reshape(shape)};
}

torch::Tensor PairMeasure::measured(const Grids& x, const Grids& y, Local local) const {
  torch::Tensor of_globals;
  if (params_.kind != MeasureKind::structural) {
    of_globals = apply(local, x.dim(), torch::matmul(x.globals, y.globals.t()),
                       spread_of(local, x.globals, {x.size(), 1}),
                       spread_of(local, y.globals, {1, y.size()}));
    if (params_.kind == MeasureKind::global) return of_globals;
  }
  const std::int64_t rows = x.cells.size(1);
  const std::int64_t columns = y.cells.size(1);
  // One product of all cells with all cells, kept as [x, R_x, y, R_y]: with another order of the
  // axes every operation below, and its gradient, would stride through memory.
  const torch::Tensor products = torch::matmul(x.cells.reshape({x.size() * rows, x.dim()}),
                                               y.cells.reshape({y.size() * columns, y.dim()}).t())
                                     .view({x.size(), rows, y.size(), columns});
  const torch::Tensor of_cells =
      apply(local, x.dim(), products, spread_of(local, x.cells, {x.size(), rows, 1, 1}),
            spread_of(local, y.cells, {1, 1, y.size(), columns}));
  const torch::Tensor mass = plans(x, y, {}, products.transpose(1, 2)).transpose(1, 2).contiguous();
  const torch::Tensor structural = (mass * of_cells).sum({1, 3});
  return params_.kind == MeasureKind::blended ? (of_globals + structural) / 2.0 : structural;
}

torch::Tensor PairMeasure::measured(const Grids& x, const Grids& y, const torch::Tensor& pairs,
                                    Local local) const {
  const torch::Tensor of_x = pairs.select(1, 0);
  const torch::Tensor of_y = pairs.select(1, 1);
  if (pairs.size(0) == 0) return (x.globals.index_select(0, of_x) * 0.0).sum(-1);
  // Where there are many pairs, one product of all with all is less work than one for each.
  if (2 * pairs.size(0) > x.size() * y.size()) return measured(x, y, local).index({of_x, of_y});
  torch::Tensor of_globals;
  if (params_.kind != MeasureKind::structural) {
    const torch::Tensor left = x.globals.index_select(0, of_x);
    const torch::Tensor right = y.globals.index_select(0, of_y);
    of_globals = apply(local, x.dim(), (left * right).sum(-1), spread_of(local, left, {-1}),
                       spread_of(local, right, {-1}));
    if (params_.kind == MeasureKind::global) return of_globals;
  }
  const torch::Tensor left = x.cells.index_select(0, of_x);
  const torch::Tensor right = y.cells.index_select(0, of_y);
  const torch::Tensor products = torch::bmm(left, right.transpose(1, 2));  // [P, R_x, R_y]
  const torch::Tensor of_cells =
      apply(local, x.dim(), products, spread_of(local, left, {left.size(0), left.size(1), 1}),
            spread_of(local, right, {right.size(0), 1, right.size(1)}));
  const torch::Tensor structural = (plans(x, y, pairs, products) * of_cells).sum({1, 2});
  return params_.kind == MeasureKind::blended ? (of_globals + structural) / 2.0 : structural;
}

torch::Tensor PairMeasure::plans(const Grids& x, const Grids& y, const torch::Tensor& pairs,
                                 const torch::Tensor& similarities) const {
  const Stopwatch watch;
  const PlanRequest request{x, y, pairs};
  const bool unrolled = params_.plan_gradient == PlanGradient::unrolled;
  if (unrolled && similarities.requires_grad()) expect_room(similarities);
  const torch::Tensor found =
      unrolled ? unrolled_plans(request, similarities, params_.match)
               : matched_plans(request, *matcher_, params_.match).to(similarities.options());
  plan_seconds_ += watch.seconds();
  return found;
}

void PairMeasure::expect_room(const torch::Tensor& similarities) const {
  const int iterations = params_.match.transport.max_iterations;
  const std::int64_t rows = similarities.size(-2);
  const std::int64_t columns = similarities.size(-1);
  const std::int64_t pairs = similarities.numel() / (rows * columns);
  const double bytes =
      unrolled_bytes(pairs, rows, columns, iterations, similarities.element_size());
  // What fitted once fits again: LibTorch caches the memory, which no longer counts as free.
  if (bytes <= unrolled_bytes_) return;
  const torch::Device device = similarities.device();
  const std::optional<double> free = free_memory_of(device);
  const std::string text =
      "unrolled plans need at most " + bytes_text(bytes) + " for " + std::to_string(pairs) +
      " pairs of " + std::to_string(rows) + " and " + std::to_string(columns) + " cells in " +
      std::to_string(iterations) + " iterations" +
      (free ? "; " + device.str() + " has " + bytes_text(*free) + " free" : "");
  if (free && bytes > *free) {
    throw Error(ErrorKind::out_of_resources,
                text +
                    ": lower sampler.batch, grid or measure.max_iterations, or use "
                    "measure.plan_gradient constant");
  }
  unrolled_bytes_ = bytes;
  unrolled_memory_ = text;
}

}  // namespace diml::learn
