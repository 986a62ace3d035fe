#include "diml/matcher.h"

#include <algorithm>
#include <string>

#include "base/threads.h"
#include "diml/error.h"

#if DIML_HAS_SIMD
#include "cpu/cpu_matcher.h"
#include "cpu/pair_kernel.h"
#endif
#include "match/affine_prior.h"
#include "match/backends.h"
#include "match/cell_places.h"
#include "match/match_on_device.h"
#include "match/simd_targets.h"
#if DIML_HAS_CUDA
#include "cuda/cuda_matcher.h"
#endif

namespace diml {
namespace {

// Pair by pair through match(): the reference and the exact solver.
class PairwiseMatcher final : public Matcher {
 public:
  PairwiseMatcher(Backend backend, MatcherParams params) : backend_(backend), params_(params) {}

  Backend backend() const override { return backend_; }

 protected:
  void run(const PairBatch& batch, const MatchParams& params,
           const Outputs& outputs) const override {
    MatchParams own = params;
    own.transport.backend = backend_;
    parallel_for(
        batch.pairs.size(), 1, params_.threads,
        [&](std::size_t begin, std::size_t end) {
          for (std::size_t k = begin; k < end; ++k) {
            const Pair& pair = batch.pairs[k];
            const StructuralMatch result =
                match(batch.sources[static_cast<std::size_t>(pair.source)],
                      batch.targets[static_cast<std::size_t>(pair.target)], own);
            store(result, outputs, k);
          }
        },
        *outputs.progress);
  }

 private:
  Backend backend_;
  MatcherParams params_;
};

void check_batch(const PairBatch& batch) {
  check_grid_shape(batch.sources.cells_per_grid, batch.sources.dim);
  check_grid_shape(batch.targets.cells_per_grid, batch.targets.dim);
  if (batch.sources.dim != batch.targets.dim) {
    throw Error("sources have " + std::to_string(batch.sources.dim) + "-d cells, targets " +
                std::to_string(batch.targets.dim) + "-d ones: embed both with one model");
  }
  for (std::size_t k = 0; k < batch.pairs.size(); ++k) {
    const Pair& pair = batch.pairs[k];
    const auto outside = [](std::int64_t index, std::size_t size) {
      return index < 0 || static_cast<std::size_t>(index) >= size;
    };
    if (outside(pair.source, batch.sources.size) || outside(pair.target, batch.targets.size)) {
      throw Error("pair " + std::to_string(k) + " is (" + std::to_string(pair.source) + ", " +
                  std::to_string(pair.target) + "), but there are " +
                  std::to_string(batch.sources.size) + " sources and " +
                  std::to_string(batch.targets.size) + " targets: indices count from 0");
    }
  }
}

}  // namespace

std::shared_ptr<const void> Matcher::keep(const GridSetView&) const { return nullptr; }

void Matcher::store(const StructuralMatch& match, const Outputs& outputs, std::size_t k) {
  outputs.scores[k] =
      static_cast<float>(outputs.quantity == Quantity::similarity ? match.score : match.distance);
  if (outputs.plans) {
    std::copy(match.plan.mass.begin(), match.plan.mass.end(),
              outputs.plans + k * match.plan.mass.size());
  }
  if (outputs.reports) {
    outputs.reports[k] = {match.plan.iterations, match.plan.marginal_error,
                          match.plan.converged,  match.marginals.fallbacks,
                          match.bracket,         match.prior};
  }
}

void Matcher::check_and_run(const PairBatch& batch, const MatchParams& params, std::size_t scores,
                            std::size_t reports, const Outputs& outputs) const {
  check_params(params.transport);
  check_prior(params, backend());
  check_marginals_and_mass(params, backend());
  check_batch(batch);
  if (params.prior != Prior::none) {
    (void)shape_for_prior(params.source_shape, batch.sources.cells_per_grid, "sources");
    (void)shape_for_prior(params.target_shape, batch.targets.cells_per_grid, "targets");
  }
  if (scores != batch.pairs.size() || (reports != 0 && reports != batch.pairs.size())) {
    throw Error(ErrorKind::internal, "as many scores and reports are needed as there are pairs");
  }
  run(batch, params, outputs);
}

void Matcher::score(const PairBatch& batch, const MatchParams& params, std::span<float> scores,
                    std::span<PairReport> reports, Quantity quantity,
                    const Progress& progress) const {
  check_and_run(
      batch, params, scores.size(), reports.size(),
      {quantity, scores.data(), nullptr, reports.empty() ? nullptr : reports.data(), &progress});
}

void Matcher::plans(const PairBatch& batch, const MatchParams& params, std::span<float> scores,
                    std::span<float> plans, std::span<PairReport> reports,
                    const Progress& progress) const {
  if (plans.size() !=
      batch.pairs.size() * batch.sources.cells_per_grid * batch.targets.cells_per_grid) {
    throw Error(ErrorKind::internal, "plans need room for pairs x source cells x target cells");
  }
  check_and_run(batch, params, scores.size(), reports.size(),
                {Quantity::similarity, scores.data(), plans.data(),
                 reports.empty() ? nullptr : reports.data(), &progress});
}

std::vector<Backend> available_backends() {
  std::vector<Backend> backends;
  for (const Backend backend : {Backend::cuda, Backend::cpu, Backend::reference, Backend::exact}) {
    if (is_available(backend)) backends.push_back(backend);
  }
  return backends;
}

std::unique_ptr<Matcher> make_matcher(Backend backend, MatcherParams params) {
  if (backend == Backend::fastest) backend = available_backends().front();
  expect_available(backend);
#if DIML_HAS_CUDA
  if (backend == Backend::cuda) return cuda::make_cuda_matcher(params);
#endif
#if DIML_HAS_SIMD
  if (backend == Backend::cpu) return cpu::make_cpu_matcher(params);
#endif
  return std::make_unique<PairwiseMatcher>(backend, params);
}

std::vector<std::string> simd_targets() {
#if DIML_HAS_SIMD
  return cpu::simd_targets();
#else
  return {};
#endif
}

std::string active_simd_target() {
#if DIML_HAS_SIMD
  return cpu::active_simd_target();
#else
  return {};
#endif
}

void force_simd_target(std::string_view name) {
#if DIML_HAS_SIMD
  cpu::force_simd_target(name);
#else
  if (!name.empty())
    throw Error(ErrorKind::unsupported,
                "this build has no SIMD targets: install libhwy-dev and build again");
#endif
}

#if !DIML_HAS_CUDA
bool cuda::is_available() { return false; }

std::string cuda::describe_device() {
  return "the program was built without CUDA: install the CUDA toolkit and build again";
}
#endif

}  // namespace diml
