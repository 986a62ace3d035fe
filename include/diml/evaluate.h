#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diml/matcher.h"
#include "diml/metrics.h"
#include "diml/threads.h"

namespace diml {

struct EvaluateParams {
  std::vector<std::size_t> rerank = {
      0, 100};  // each K is evaluated from its own candidates; 0 is the plain cosine
  MatchParams match;
  std::string matcher = "auto";
  int threads = 0;
  bool nmi = false;  // cluster the globals, as many clusters as classes
  std::uint64_t seed = 0;
};

struct RerankResult {
  std::size_t rerank = 0;
  RetrievalMetrics metrics;
  std::map<std::int64_t, RetrievalMetrics> per_class;
};

struct Evaluation {
  std::size_t queries = 0;
  std::size_t left_out = 0;  // queries whose class has one image
  std::vector<std::size_t> recall_ks;
  std::vector<RerankResult> results;  // in the order of EvaluateParams::rerank
  std::optional<double> nmi;
  double first_stage_seconds = 0.0;
  double rerank_seconds = 0.0;
};

// Every grid is a query against all the others. labels: [grids.size].
Evaluation evaluate(GridSetView grids, std::span<const std::int64_t> labels,
                    const EvaluateParams& params = {}, const Progress& progress = {});

}  // namespace diml
