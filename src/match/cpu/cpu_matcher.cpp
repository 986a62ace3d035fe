#include "cpu/cpu_matcher.h"

#include <algorithm>

#include "base/threads.h"
#include "cpu/cpu_solver.h"
#include "cpu/pair_kernel.h"
#include "match/backends.h"

namespace diml::cpu {
namespace {

class CpuMatcher final : public Matcher {
 public:
  explicit CpuMatcher(MatcherParams params) : params_(params) {}

  Backend backend() const override { return Backend::cpu; }

 protected:
  void run(const PairBatch& batch, const MatchParams& params,
           const Outputs& outputs) const override {
    const auto threads = static_cast<std::size_t>(thread_count(params_.threads));
    // Small enough to balance the threads, large enough that packing a source pays; no longer than
    // a cancelled caller may wait.
    const std::size_t grain = std::clamp<std::size_t>(batch.pairs.size() / (4 * threads), 16, 512);
    parallel_for(
        batch.pairs.size(), std::min(grain, most_at_once(batch, params)), params_.threads,
        [&](std::size_t begin, std::size_t end) { run_range(batch, params, outputs, begin, end); },
        *outputs.progress);
  }

 private:
  // Pairs between two looks at the progress, if all of them take every iteration.
  static std::size_t most_at_once(const PairBatch& batch, const MatchParams& params) {
    constexpr double kSteps = 5e7;
    const auto cells = static_cast<double>(batch.sources.cells_per_grid) *
                       static_cast<double>(batch.targets.cells_per_grid);
    const double pairs = kSteps / cells / std::max(1, params.transport.max_iterations);
    return static_cast<std::size_t>(std::clamp(pairs, 1.0, 1e6));
  }

  static void run_range(const PairBatch& batch, const MatchParams& params, const Outputs& outputs,
                        std::size_t begin, std::size_t end) {
    const auto task_of = [&batch](std::size_t k) {
      return PairTask{batch.sources[static_cast<std::size_t>(batch.pairs[k].source)],
                      batch.targets[static_cast<std::size_t>(batch.pairs[k].target)]};
    };
    if (outputs.quantity == Quantity::distance || params.prior != Prior::none) {
      for (std::size_t k = begin; k < end; ++k) {
        store(in_full(task_of(k), params, outputs.quantity), outputs, k);
      }
      return;
    }
    thread_local PairWorkspace workspace;
    thread_local std::vector<PairTask> tasks;
    thread_local std::vector<PairOutput> pair_outputs;
    const std::size_t plan_size = batch.sources.cells_per_grid * batch.targets.cells_per_grid;
    tasks.clear();
    pair_outputs.clear();
    for (std::size_t k = begin; k < end; ++k) {
      tasks.push_back(task_of(k));
      PairOutput& output = pair_outputs.emplace_back();
      if (outputs.plans) output.plan = outputs.plans + k * plan_size;
    }
    match_pairs(tasks.data(), tasks.size(), pair_params(params), workspace, pair_outputs.data());

    for (std::size_t k = begin; k < end; ++k) {
      const PairOutput& output = pair_outputs[k - begin];
      if (output.out_of_range) {
        store(in_full(tasks[k - begin], params, Quantity::similarity), outputs, k);
        continue;
      }
      outputs.scores[k] = output.score;
      if (!outputs.reports) continue;
      outputs.reports[k] = {output.iterations,
                            output.marginal_error,
                            output.converged,
                            {output.uniform_source, output.uniform_target, output.wide},
                            {},
                            {}};
      if (params.certificate == Certificate::duality_gap) {
        outputs.reports[k].bracket =
            in_full(tasks[k - begin], params, Quantity::similarity).bracket;
      }
    }
  }

  // Cases that the kernel does not support: the smallest lambdas, distances, certificates, priors.
  static StructuralMatch in_full(const PairTask& task, const MatchParams& params,
                                 Quantity quantity) {
    MatchParams own = params;
    own.transport.backend = Backend::cpu;
    return match_for(quantity, task.source, task.target, own);
  }

  MatcherParams params_;
};

}  // namespace

std::unique_ptr<Matcher> make_cpu_matcher(MatcherParams params) {
  return std::make_unique<CpuMatcher>(params);
}

}  // namespace diml::cpu
