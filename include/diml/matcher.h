#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "diml/match.h"
#include "diml/progress.h"

namespace diml {

struct Pair {
  std::int64_t source;
  std::int64_t target;
};

// Pairs of grids from two sets, which may be the same set and may differ in cells per grid, not in
// D. Runs of pairs with one source are fastest.
struct PairBatch {
  GridSetView sources;
  GridSetView targets;
  std::span<const Pair> pairs;
};

enum class Quantity : std::uint8_t { similarity, distance };

// How a pair was solved.
struct PairReport {
  int iterations = 0;
  double marginal_error = 0.0;
  bool converged = false;
  Fallbacks fallbacks;
  std::optional<Bracket> bracket;    // of the least cost, with Certificate::duality_gap
  std::optional<PriorReport> prior;  // where a prior is wanted
};

struct MatcherParams {
  int threads = 0;  // 0: default_threads()
};

// Matches many pairs. A pair's result never depends on the other pairs of the batch, their order,
// the batch's size or the number of threads: it is the same bit for bit.
class Matcher {
 public:
  virtual ~Matcher() = default;

  virtual Backend backend() const = 0;
  const char* name() const { return name_of(backend()); }

  // For a set that is matched often and does not change while the handle exists: a matcher on a GPU
  // copies it there once. Null where this has no benefit.
  virtual std::shared_ptr<const void> keep(const GridSetView& set) const;

  // scores: [pairs]. reports: [pairs] or empty. It can be cancelled between two blocks of
  // pairs; the scores are then not complete.
  void score(const PairBatch& batch, const MatchParams& params, std::span<float> scores,
             std::span<PairReport> reports = {}, Quantity quantity = Quantity::similarity,
             const Progress& progress = {}) const;

  // scores: [pairs]; plans: [pairs, R_s, R_t]. reports: [pairs] or empty. Cancelled as score().
  void plans(const PairBatch& batch, const MatchParams& params, std::span<float> scores,
             std::span<float> plans, std::span<PairReport> reports = {},
             const Progress& progress = {}) const;

 protected:
  struct Outputs {
    Quantity quantity = Quantity::similarity;
    float* scores = nullptr;
    float* plans = nullptr;              // null: not needed
    PairReport* reports = nullptr;       // null: not needed
    const Progress* progress = nullptr;  // never null in run()
  };
  // Writes a whole match to the outputs of pair k.
  static void store(const StructuralMatch& match, const Outputs& outputs, std::size_t k);

  // The arguments are already checked; params.transport.backend is ignored.
  virtual void run(const PairBatch& batch, const MatchParams& params,
                   const Outputs& outputs) const = 0;

 private:
  void check_and_run(const PairBatch& batch, const MatchParams& params, std::size_t scores,
                     std::size_t reports, const Outputs& outputs) const;
};

// Throws, with the remedy, where this build or machine does not support it.
std::unique_ptr<Matcher> make_matcher(Backend backend = Backend::fastest,
                                      MatcherParams params = {});
// Those that can be used here, the fastest first; exact, which solves another problem, is the last.
std::vector<Backend> available_backends();

// The SIMD instruction sets that the cpu backend can use on this machine, the best first; empty
// without it.
std::vector<std::string> simd_targets();

// The one in use.
std::string active_simd_target();

}  // namespace diml
