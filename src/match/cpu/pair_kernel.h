#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/float16.h"
#include "diml/matcher.h"

namespace diml::cpu {

struct PairParams {
  MarginalRule marginals = MarginalRule::cross_correlation;
  float lambda = 0.05f;
  float tolerance = 1e-4f;
  int max_iterations = 1000;
  float slack = 0.0f;      // the mass that stays, 1 - s
  GridShape source_shape;  // as in MatchParams
  GridShape target_shape;
};

// The results of one pair. Those with a null pointer are not computed.
struct PairOutput {
  float* plan = nullptr;               // [R_s, R_t]
  float* similarity = nullptr;         // [R_s, R_t]
  float* source_marginal = nullptr;    // [R_s]
  float* target_marginal = nullptr;    // [R_t]
  double* target_potential = nullptr;  // [R_t], lambda log b

  float score = 0.0f;
  float marginal_error = 0.0f;
  int iterations = 0;
  bool converged = false;
  bool uniform_source = false;
  bool uniform_target = false;
  bool wide = false;          // float32 was too narrow for the kernel, double was not
  bool out_of_range = false;  // double was too narrow as well: nothing was computed
};

// Memory that is kept between calls on one thread, so that matching allocates nothing per pair.
struct PairWorkspace {
  std::vector<std::byte> bytes;
  std::byte* take(std::size_t size);  // at least `size` bytes, aligned for any SIMD target
};

struct PairTask {
  GridView source;
  GridView target;
};

// Matches pairs whose sources are all of one shape and whose targets are all of one shape. Runs of
// one source are fastest. A pair's output does not depend on the others.
void match_pairs(const PairTask* tasks, std::size_t count, const PairParams& params,
                 PairWorkspace& workspace, PairOutput* outputs);

// Sinkhorn alone, on a given similarity matrix [rows, cols] and given marginals.
void solve_similarity(const float* similarity, const float* source_marginal,
                      const float* target_marginal, std::size_t rows, std::size_t cols,
                      const PairParams& params, PairWorkspace& workspace, PairOutput& output);

std::vector<std::string> simd_targets();
std::string active_simd_target();
void force_simd_target(std::string_view name);

}  // namespace diml::cpu
