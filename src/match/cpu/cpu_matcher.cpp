#include "cpu/cpu_matcher.h"

#include <algorithm>

#include "cpu/cpu_solver.h"
#include "cpu/pair_kernel.h"
#include "diml/threads.h"

namespace diml::cpu {
namespace {

class CpuMatcher final : public Matcher {
 public:
  explicit CpuMatcher(MatcherOptions options) : options_(options) {}

  const char* name() const override { return "cpu"; }

 protected:
  void run(const PairBatch& batch, const MatchParams& params,
           const Outputs& outputs) const override {
    const auto threads = static_cast<std::size_t>(thread_count(options_.threads));
    // Small enough to balance the threads, large enough that packing a source pays.
    const std::size_t grain = std::clamp<std::size_t>(batch.pairs.size() / (4 * threads), 16, 512);
    parallel_for(
        batch.pairs.size(), grain, options_.threads,
        [&](std::size_t begin, std::size_t end) { run_range(batch, params, outputs, begin, end); });
  }

 private:
  static void run_range(const PairBatch& batch, const MatchParams& params, const Outputs& outputs,
                        std::size_t begin, std::size_t end) {
    const auto task_of = [&batch](std::size_t k) {
      return PairTask{batch.sources[static_cast<std::size_t>(batch.pairs[k].source)],
                      batch.targets[static_cast<std::size_t>(batch.pairs[k].target)]};
    };
    if (outputs.quantity == Quantity::distance) {
      for (std::size_t k = begin; k < end; ++k) store(in_full(task_of(k), params), outputs, k);
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
        store(in_full(tasks[k - begin], params), outputs, k);
        continue;
      }
      outputs.scores[k] = output.score;
      if (!outputs.reports) continue;
      outputs.reports[k] = {output.iterations,
                            output.marginal_error,
                            output.converged,
                            {output.uniform_source, output.uniform_target, output.wide},
                            {}};
      if (params.certificate == Certificate::duality_gap) {
        outputs.reports[k].bracket = in_full(tasks[k - begin], params).bracket;
      }
    }
  }

  // What the kernel does not give: the smallest lambdas, distances, certificates. All of them are
  // rare.
  static StructuralMatch in_full(const PairTask& task, const MatchParams& params) {
    MatchParams own = params;
    own.transport.solver = Solver::cpu;
    return match(task.source, task.target, own);
  }

  MatcherOptions options_;
};

}  // namespace

std::unique_ptr<Matcher> make_cpu_matcher(MatcherOptions options) {
  return std::make_unique<CpuMatcher>(options);
}

}  // namespace diml::cpu
