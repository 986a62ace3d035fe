#pragma once

#include <cstdint>

#include "answer_fields.h"
#include "diml/explain.h"

namespace diml::server {

// How similar two images are, and why: the answers of /v1/compare and /v1/explain.

struct PlanParams {
  static constexpr const char* kName = "PlanParams";
  std::string marginals;
  double lambda = 0.0;
  double mass = 1.0;
  std::string solver;
  std::string prior = "none";
  float global_weight = 1.0F;
  float structural_weight = 1.0F;

  template <class Fields>
  void list(Fields& fields) const {
    fields("marginals", marginals);
    fields("lambda", lambda);
    fields("mass", mass, "Share of the mass that is transported");
    fields("solver", solver);
    fields("prior", prior, "What was expected of the plan: none or affine");
    fields("global_weight", global_weight);
    fields("structural_weight", structural_weight);
  }
};

struct PlanFallbacks {
  static constexpr const char* kName = "PlanFallbacks";
  bool uniform_source = false;
  bool uniform_target = false;
  bool log_domain = false;

  template <class Fields>
  void list(Fields& fields) const {
    fields("uniform_source", uniform_source);
    fields("uniform_target", uniform_target);
    fields("log_domain", log_domain);
  }
};

struct PriorAnswer {
  static constexpr const char* kName = "PriorReport";
  int rounds = 0;
  bool trusted = false;
  std::string doubt;
  std::vector<double> map;
  double support = 0.0;

  template <class Fields>
  void list(Fields& fields) const {
    fields("rounds", rounds, "How many times the plan was solved with it");
    fields("trusted", trusted,
           "Whether the prior was used; if not, the plan is the one without it");
    fields("doubt", doubt, "Why it was not used: few_cells, collapsed or scattered; else none");
    fields("map", map, "x' = m0 x + m1 y + m2, y' = m3 x + m4 y + m5, from the middle of the grid");
    fields("support", support, "How much of the flow is near the map, from 0 to 1");
  }
};

struct ComparisonAnswer {
  static constexpr const char* kName = "Comparison";
  ComparisonAnswer() = default;
  explicit ComparisonAnswer(const Explanation& why);
  double score = 0.0;
  double cosine = 0.0;
  double total = 0.0;
  PlanParams params;
  std::optional<PriorAnswer> prior;
  PlanFallbacks fallbacks;
  int iterations = 0;
  bool converged = false;

  template <class Fields>
  void list(Fields& fields) const {
    fields("score", score, "Structural similarity");
    fields("cosine", cosine, "Cosine of the global vectors");
    fields("total", total, "Their sum");
    fields("params", params);
    fields("prior", prior, "What the prior did; null without one");
    fields("fallbacks", fallbacks);
    fields("iterations", iterations);
    fields("converged", converged);
  }
};

struct PartPairAnswer {
  static constexpr const char* kName = "PartPair";
  PartPair pair;

  template <class Fields>
  void list(Fields& fields) const {
    fields("source", pair.source, "A cell, counted row by row from 0");
    fields("target", pair.target);
    fields("mass", pair.mass, "T_ij");
    fields("amplified", pair.amplified, "R_s R_t T_ij: an even flow gives 1");
    fields("similarity", pair.similarity, "S_ij");
    fields("contribution", pair.contribution, "T_ij S_ij");
    fields("share", pair.share, "Share of the score");
  }
};

struct RegionAnswer {
  static constexpr const char* kName = "Region";
  Region region;

  template <class Fields>
  void list(Fields& fields) const {
    fields("source", region.source, "Cells that lie side by side");
    fields("target", region.target, "Cells that receive most of what they send");
    fields("mass", region.mass);
    fields("similarity", region.similarity, "Mean similarity, weighted by mass");
    fields("contribution", region.contribution);
    fields("share", region.share, "Share of the score");
  }
};

struct MarginalsAnswer {
  static constexpr const char* kName = "CellWeights";
  std::vector<double> source;
  std::vector<double> target;

  template <class Fields>
  void list(Fields& fields) const {
    fields("source", source);
    fields("target", target);
  }
};

// The same as `diml explain --out x.json` writes; docs/explain.md has the meanings.
struct ExplanationAnswer {
  static constexpr const char* kName = "Explanation";
  ExplanationAnswer() = default;
  // most_pairs: how many of the strongest pairs are listed.
  ExplanationAnswer(const Explanation& why, std::size_t most_pairs);
  ComparisonAnswer summary;
  double mean_similarity = 0.0;
  GridShape source;
  GridShape target;
  MarginalsAnswer marginals;
  std::vector<std::vector<double>> similarity;
  std::vector<std::vector<double>> plan;
  std::vector<RegionAnswer> regions;
  double scattered = 0.0;
  std::vector<PartPairAnswer> pairs;
  std::vector<PartPairAnswer> weakest;
  double marginal_error = 0.0;

  template <class Fields>
  void list(Fields& fields) const {
    summary.list(fields);
    fields("mean_similarity", mean_similarity, "The score of an even flow");
    fields("rows_source", source.rows);
    fields("cols_source", source.cols);
    fields("rows_target", target.rows);
    fields("cols_target", target.cols);
    fields("marginals", marginals);
    fields("similarity", similarity, "S, [source cells, target cells]");
    fields("plan", plan, "The transport plan T, of the same shape");
    fields("regions", regions, "Few groups of cells, the largest contribution first");
    fields("scattered", scattered,
           "Contribution of the pairs in no region: with theirs, the score");
    fields("pairs", pairs, "Largest contribution first");
    fields("weakest", weakest,
           "For each source cell the pair with most of its mass, smallest contribution first");
    fields("marginal_error", marginal_error);
  }
};

}  // namespace diml::server
