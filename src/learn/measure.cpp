#include "diml/learn/measure.h"

#include <chrono>

#include "diml/error.h"

namespace diml::learn {
namespace {

// Below it a squared distance counts as 0: the gradient of its root would be infinite.
constexpr double kNoDistance = 1e-10;

// Means and variances over the dimensions of every vector: [..., D] to [..., 1] each.
struct Spread {
  torch::Tensor mean;
  torch::Tensor variance;
};
Spread spread_of(const torch::Tensor& vectors) {
  const torch::Tensor mean = vectors.mean(-1);
  return {mean, (vectors * vectors).mean(-1) - mean * mean};
}

// The float32 view that the matcher takes; `keep` owns the memory.
GridSetView view_of(const Grids& grids, std::vector<torch::Tensor>& keep) {
  const auto plain = [&](const torch::Tensor& tensor) {
    keep.push_back(tensor.detach().to(torch::kCPU, torch::kFloat32).contiguous());
    return keep.back();
  };
  const torch::Tensor cells = plain(grids.cells);
  const torch::Tensor globals = plain(grids.globals);
  GridSetView view;
  view.cells = cells.data_ptr<float>();
  view.type = CellType::float32;
  view.size = static_cast<std::size_t>(cells.size(0));
  view.cells_per_grid = static_cast<std::size_t>(cells.size(1));
  view.dim = static_cast<std::size_t>(cells.size(2));
  view.globals = globals.data_ptr<float>();
  return view;
}

// Cross-correlation marginals of the cells against the other side's globals: [x, y, R].
torch::Tensor weights_of(const torch::Tensor& cells, const torch::Tensor& other_globals) {
  const std::int64_t count = cells.size(0);
  const std::int64_t per_grid = cells.size(1);
  const torch::Tensor correlation = torch::relu(torch::matmul(
      cells.reshape({count * per_grid, cells.size(2)}), other_globals.t()));  // [x * R, y]
  const torch::Tensor weights =
      correlation.view({count, per_grid, other_globals.size(0)}).transpose(1, 2);
  const torch::Tensor sums = weights.sum(-1, true);
  return torch::where(sums > kNoCorrelation, weights / sums.clamp_min(kNoCorrelation),
                      torch::full_like(weights, 1.0 / static_cast<double>(per_grid)));
}

}  // namespace

MeasureKind measure_kind_from(std::string_view name) {
  if (name == "global") return MeasureKind::global;
  if (name == "structural") return MeasureKind::structural;
  if (name == "blended") return MeasureKind::blended;
  throw Error("unknown measure '" + std::string(name) + "': global, structural or blended");
}

const char* name_of(MeasureKind kind) {
  switch (kind) {
    case MeasureKind::structural:
      return "structural";
    case MeasureKind::blended:
      return "blended";
    default:
      return "global";
  }
}

PlanGradient plan_gradient_from(std::string_view name) {
  if (name == "constant") return PlanGradient::constant;
  if (name == "unrolled") return PlanGradient::unrolled;
  throw Error("unknown plan_gradient '" + std::string(name) + "': constant or unrolled");
}

const char* name_of(PlanGradient gradient) {
  return gradient == PlanGradient::unrolled ? "unrolled" : "constant";
}

PairMeasure::PairMeasure(MeasureParams params)
    : params_(std::move(params)),
      matcher_(make_matcher(params_.matcher, {.threads = params_.threads})) {}

PairMeasure::~PairMeasure() = default;

torch::Tensor PairMeasure::similarity(const Grids& x, const Grids& y) const {
  return measured(x, y, Local::cosine);
}

torch::Tensor PairMeasure::distance(const Grids& x, const Grids& y) const {
  return measured(x, y, Local::euclidean);
}

torch::Tensor PairMeasure::noise(const Grids& x, const Grids& y) const {
  return measured(x, y, Local::noise);
}

torch::Tensor PairMeasure::measured(const Grids& x, const Grids& y, Local local) const {
  // What two vectors are to each other, from their product alone; the spreads broadcast.
  const auto apply = [&](const torch::Tensor& product, const Spread& of_x, const Spread& of_y) {
    if (local == Local::cosine) return product;
    if (local == Local::euclidean) {
      return (2.0 - 2.0 * product).clamp_min(kNoDistance).sqrt();
    }
    const torch::Tensor covariance = product / static_cast<double>(x.dim()) - of_x.mean * of_y.mean;
    return (of_x.variance + of_y.variance - 2.0 * covariance) /
           of_x.variance.clamp_min(kNoDistance);
  };
  const auto spread = [&](const torch::Tensor& vectors) {
    return local == Local::noise ? spread_of(vectors) : Spread{};
  };
  const auto reshaped = [](Spread spread_values, at::IntArrayRef shape) {
    if (!spread_values.mean.defined()) return spread_values;
    return Spread{spread_values.mean.reshape(shape), spread_values.variance.reshape(shape)};
  };

  torch::Tensor of_globals;
  if (params_.kind != MeasureKind::structural) {
    of_globals =
        apply(torch::matmul(x.globals, y.globals.t()), reshaped(spread(x.globals), {x.size(), 1}),
              reshaped(spread(y.globals), {1, y.size()}));
    if (params_.kind == MeasureKind::global) return of_globals;
  }
  const std::int64_t rows = x.cells.size(1);
  const std::int64_t columns = y.cells.size(1);
  // One product of all cells with all cells, left as it comes, [x, R_x, y, R_y]: in another order
  // of the axes every operation below, and its gradient, would stride through memory.
  const torch::Tensor products = torch::matmul(x.cells.reshape({x.size() * rows, x.dim()}),
                                               y.cells.reshape({y.size() * columns, y.dim()}).t())
                                     .view({x.size(), rows, y.size(), columns});
  const torch::Tensor of_cells = apply(products, reshaped(spread(x.cells), {x.size(), rows, 1, 1}),
                                       reshaped(spread(y.cells), {1, 1, y.size(), columns}));
  const torch::Tensor mass = plans(x, y, products.transpose(1, 2)).transpose(1, 2).contiguous();
  const torch::Tensor structural = (mass * of_cells).sum({1, 3});
  return params_.kind == MeasureKind::blended ? (of_globals + structural) / 2.0 : structural;
}

torch::Tensor PairMeasure::plans(const Grids& x, const Grids& y,
                                 const torch::Tensor& similarities) const {
  const auto start = std::chrono::steady_clock::now();
  const torch::Tensor found = params_.plan_gradient == PlanGradient::unrolled
                                  ? unrolled_plans(x, y, similarities)
                                  : matched_plans(x, y).to(similarities.options());
  plan_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return found;
}

torch::Tensor PairMeasure::matched_plans(const Grids& x, const Grids& y) const {
  const torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> keep;
  const GridSetView sources = view_of(x, keep);
  const GridSetView targets = view_of(y, keep);
  std::vector<Pair> pairs;
  pairs.reserve(sources.size * targets.size);
  for (std::size_t i = 0; i < sources.size; ++i) {
    for (std::size_t j = 0; j < targets.size; ++j) {
      pairs.push_back({static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)});
    }
  }
  torch::Tensor mass = torch::empty({x.size(), y.size(), x.cells.size(1), y.cells.size(1)});
  std::vector<float> scores(pairs.size());
  matcher_->plans({sources, targets, pairs}, params_.match, scores,
                  {mass.data_ptr<float>(), static_cast<std::size_t>(mass.numel())});
  return mass;
}

torch::Tensor PairMeasure::unrolled_plans(const Grids& x, const Grids& y,
                                          const torch::Tensor& similarities) const {
  const bool uniform = params_.match.marginals == MarginalRule::uniform;
  const auto even = [&](std::int64_t cells) {
    return torch::full({x.size(), y.size(), cells}, 1.0 / static_cast<double>(cells),
                       similarities.options());
  };
  const torch::Tensor source =
      uniform ? even(x.cells.size(1)) : weights_of(x.cells, y.globals);  // [x, y, R_x]
  const torch::Tensor target =
      uniform ? even(y.cells.size(1)) : weights_of(y.cells, x.globals).transpose(0, 1);
  const TransportParams& transport = params_.match.transport;
  // Through logarithms: a cell without weight stays without mass, whatever lambda is.
  constexpr double kTiny = 1e-30;
  const torch::Tensor kernel = (similarities - 1.0) / transport.lambda;
  const torch::Tensor log_source = source.clamp_min(kTiny).log();
  const torch::Tensor log_target = target.clamp_min(kTiny).log();
  torch::Tensor log_b = torch::zeros_like(log_target);
  torch::Tensor log_a;
  for (int iteration = 0; iteration < transport.max_iterations; ++iteration) {
    log_a = log_source - torch::logsumexp(kernel + log_b.unsqueeze(2), 3);
    log_b = log_target - torch::logsumexp(kernel + log_a.unsqueeze(3), 2);
    const torch::NoGradGuard no_gradient;
    const torch::Tensor rows = (kernel + log_a.unsqueeze(3) + log_b.unsqueeze(2)).exp().sum(3);
    const auto error = (rows - source).abs().sum(2).max().item<double>();
    if (error < transport.tolerance) break;
  }
  return (kernel + log_a.unsqueeze(3) + log_b.unsqueeze(2)).exp();
}

}  // namespace diml::learn
