#include "plans.h"

#include <string_view>

#include "diml/error.h"
#include "match/cell_places.h"
#include "match/match_on_device.h"
#include "unrolled.h"
#if DIML_TORCH_CUDA
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace diml::learn {
namespace {

static_assert(sizeof(Pair) == 2 * sizeof(std::int64_t), "a row of [P, 2] is a pair");

torch::Tensor plain(const torch::Tensor& tensor, torch::Device device) {
  return tensor.detach().to(device, torch::kFloat32).contiguous();
}

// Arrays in the form that matchers accept, and the memory that they point to.
template <typename View>
struct Taken {
  torch::Tensor cells;
  torch::Tensor globals;
  View view{};

  Taken(const Grids& grids, torch::Device device)
      : cells(plain(grids.cells, device)), globals(plain(grids.globals, device)) {
    view.cells = cells.data_ptr<float>();
    view.type = CellType::float32;
    view.size = static_cast<std::size_t>(cells.size(0));
    view.cells_per_grid = static_cast<std::size_t>(cells.size(1));
    view.dim = static_cast<std::size_t>(cells.size(2));
    view.globals = globals.data_ptr<float>();
  }
};

torch::Tensor room_for_plans(const PlanRequest& request, torch::Device device) {
  const std::int64_t rows = request.x.cells.size(1);
  const std::int64_t columns = request.y.cells.size(1);
  const auto options = torch::TensorOptions().dtype(torch::kFloat32).device(device);
  if (request.pairs.defined()) {
    return torch::empty({request.pairs.size(0), rows, columns}, options);
  }
  return torch::empty({request.x.size(), request.y.size(), rows, columns}, options);
}

torch::Tensor plans_on_host(const PlanRequest& request, const Matcher& matcher,
                            const MatchParams& params) {
  const Taken<GridSetView> sources(request.x, torch::kCPU);
  const Taken<GridSetView> targets(request.y, torch::kCPU);
  std::vector<Pair> pairs;
  if (request.pairs.defined()) {
    const torch::Tensor rows = request.pairs.to(torch::kCPU).contiguous();
    const auto* index = rows.data_ptr<std::int64_t>();
    for (std::int64_t k = 0; k < rows.size(0); ++k) {
      pairs.push_back({index[2 * k], index[2 * k + 1]});
    }
  } else {
    pairs.reserve(static_cast<std::size_t>(request.x.size() * request.y.size()));
    for (std::int64_t i = 0; i < request.x.size(); ++i) {
      for (std::int64_t j = 0; j < request.y.size(); ++j) pairs.push_back({i, j});
    }
  }
  torch::Tensor mass = room_for_plans(request, torch::kCPU);
  std::vector<float> scores(pairs.size());
  matcher.plans({sources.view, targets.view, pairs}, params, scores,
                {mass.data_ptr<float>(), static_cast<std::size_t>(mass.numel())});
  return mass.to(request.x.cells.device());
}

#if DIML_TORCH_CUDA
torch::Tensor plans_on_device(const PlanRequest& request, const MatchParams& params) {
  check_marginals_and_mass(params, Backend::cuda);
  const torch::Device device = request.x.cells.device();
  const c10::cuda::CUDAGuard guard(device);
  void* const stream = c10::cuda::getCurrentCUDAStream(device.index()).stream();
  const Taken<cuda::DeviceGrids> sources(request.x, device);
  const Taken<cuda::DeviceGrids> targets(request.y, device);
  torch::Tensor mass = room_for_plans(request, device);
  // Their memory may be reused after the return, but only by later work on the same stream.
  torch::Tensor scores =
      torch::empty({mass.numel() / (mass.size(-1) * mass.size(-2))}, mass.options());
  const cuda::DeviceOutputs outputs{scores.data_ptr<float>(), mass.data_ptr<float>(), nullptr};
  if (request.pairs.defined()) {
    const torch::Tensor pairs = request.pairs.to(device).contiguous();
    cuda::match_on_device(sources.view, targets.view,
                          reinterpret_cast<const Pair*>(pairs.data_ptr<std::int64_t>()),
                          static_cast<std::size_t>(pairs.size(0)), params, outputs, stream);
  } else {
    cuda::match_all_on_device(sources.view, targets.view, params, outputs, stream);
  }
  return mass;
}
#endif

// marginal_weight() of match/marginal_weight.h with a gradient.
torch::Tensor weights_before_normalisation(MarginalRule rule, const torch::Tensor& correlation) {
  switch (rule) {
    case MarginalRule::uniform:
      return torch::ones_like(correlation);
    case MarginalRule::centre: {
      const auto cells = static_cast<std::size_t>(correlation.size(-1));
      return torch::tensor(weights_by_place(rule, cells, {}))
          .to(correlation.options())
          .expand_as(correlation);
    }
    case MarginalRule::cross_correlation:
      break;
  }
  return torch::relu(correlation);
}

// Marginals from the correlations of cells with the other side's globals. correlation: [..., R].
torch::Tensor weights_of(MarginalRule rule, const torch::Tensor& correlation) {
  const torch::Tensor weights = weights_before_normalisation(rule, correlation);
  const torch::Tensor sums = weights.sum(-1, true);
  return torch::where(sums > kNoCorrelation, weights / sums.clamp_min(kNoCorrelation),
                      torch::full_like(weights, 1.0 / static_cast<double>(weights.size(-1))));
}

// Of every grid of `of` with every global of the other side: [of, others, R].
torch::Tensor weights_with_all(MarginalRule rule, const Grids& of, const torch::Tensor& others) {
  const std::int64_t per_grid = of.cells.size(1);
  const torch::Tensor correlation =
      torch::matmul(of.cells.reshape({of.size() * per_grid, of.dim()}), others.t());
  return weights_of(rule, correlation.view({of.size(), per_grid, others.size(0)}).transpose(1, 2));
}

struct Weights {
  torch::Tensor source;  // [..., R_x]
  torch::Tensor target;  // [..., R_y]
};
Weights marginals_of(const PlanRequest& request, MarginalRule rule) {
  const Grids& x = request.x;
  const Grids& y = request.y;
  if (!request.pairs.defined()) {
    return {weights_with_all(rule, x, y.globals),
            weights_with_all(rule, y, x.globals).transpose(0, 1)};
  }
  const torch::Tensor rows = request.pairs.select(1, 0);
  const torch::Tensor columns = request.pairs.select(1, 1);
  const auto between = [rule](const torch::Tensor& cells, const torch::Tensor& globals) {
    return weights_of(rule, torch::matmul(cells, globals.unsqueeze(-1)).squeeze(-1));
  };
  return {between(x.cells.index_select(0, rows), y.globals.index_select(0, columns)),
          between(y.cells.index_select(0, columns), x.globals.index_select(0, rows))};
}

}  // namespace

torch::Tensor matched_plans(const PlanRequest& request, const Matcher& matcher,
                            const MatchParams& params) {
  const torch::NoGradGuard no_gradient;
#if DIML_TORCH_CUDA
  if (request.x.cells.is_cuda() && matcher.backend() == Backend::cuda) {
    return plans_on_device(request, params);
  }
#endif
  return plans_on_host(request, matcher, params);
}

torch::Tensor unrolled_plans(const PlanRequest& request, const torch::Tensor& similarities,
                             const MatchParams& params) {
  if (params.transport.mass < 1.0) {
    throw Error(ErrorKind::unsupported, "unrolled plans transport all of the mass");
  }
  const Weights weights = marginals_of(request, params.marginals);
  // Through logarithms: a cell without weight stays without mass, whatever lambda is.
  constexpr double kTiny = 1e-30;
  const auto log_of = [](const torch::Tensor& side) {
    return side.clamp_min(kTiny).log().reshape({-1, side.size(-1)});
  };
  const std::int64_t rows = similarities.size(-2);
  const std::int64_t columns = similarities.size(-1);
  const torch::Tensor kernel =
      ((similarities - 1.0) / params.transport.lambda).reshape({-1, rows, columns});
  return unrolled_sinkhorn(kernel, log_of(weights.source), log_of(weights.target), params.transport)
      .view(similarities.sizes());
}

}  // namespace diml::learn
