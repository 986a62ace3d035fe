#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diml/match.h"

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

// How a pair's number came about.
struct PairReport {
  int iterations = 0;
  double marginal_error = 0.0;
  bool converged = false;
  Fallbacks fallbacks;
  std::optional<Bracket>
      bracket;  // of the least transport cost: present on Certificate::duality_gap
};

struct MatcherOptions {
  int threads = 0;  // 0: default_threads()
};

// Matches many pairs. A pair's result never depends on the other pairs of the batch, their order,
// the batch's size or the number of threads: it is the same bit for bit.
class Matcher {
 public:
  virtual ~Matcher() = default;

  virtual const char* name() const = 0;

  // Says that this set is going to be matched often and stays as it is while the handle lives: a
  // matcher on a card copies it there once. Null where there is nothing to gain.
  virtual std::shared_ptr<const void> keep(const GridSetView& set) const;

  // scores: [pairs]. reports: [pairs] or empty.
  void score(const PairBatch& batch, const MatchParams& params, std::span<float> scores,
             std::span<PairReport> reports = {}, Quantity quantity = Quantity::similarity) const;

  // scores: [pairs]; plans: [pairs, R_s, R_t]. reports: [pairs] or empty.
  void plans(const PairBatch& batch, const MatchParams& params, std::span<float> scores,
             std::span<float> plans, std::span<PairReport> reports = {}) const;

 protected:
  struct Outputs {
    Quantity quantity = Quantity::similarity;
    float* scores = nullptr;
    float* plans = nullptr;         // null: not wanted
    PairReport* reports = nullptr;  // null: not wanted
  };
  // Puts a whole match where pair k's outputs go.
  static void store(const StructuralMatch& match, const Outputs& outputs, std::size_t k);

  // Arguments are checked; params.transport.solver is this matcher's own.
  virtual void run(const PairBatch& batch, const MatchParams& params,
                   const Outputs& outputs) const = 0;

 private:
  void check_and_run(const PairBatch& batch, const MatchParams& params, std::size_t scores,
                     std::size_t reports, const Outputs& outputs) const;
};

// name: "reference", "cpu", "cuda", "exact", or "auto" for the fastest that is here. Throws on
// others, with the list.
std::unique_ptr<Matcher> make_matcher(std::string_view name = "auto", MatcherOptions options = {});
std::vector<std::string> matcher_names();

// The SIMD instruction sets that the cpu solver can use on this machine, best first; empty without
// it.
std::vector<std::string> simd_targets();

// The one in use.
std::string active_simd_target();

}  // namespace diml
