#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diml/metrics.h"
#include "diml/process_group.h"
#include "diml/retriever.h"
#include "diml/threads.h"

namespace diml {

// A query asks, an image of the gallery is found. The values are those of `.npy` files.
enum class Role : std::uint8_t { query = 1, gallery = 2, both = 3 };

struct EvaluateParams {
  std::vector<std::size_t> rerank = {
      0, 100};               // each K is evaluated from its own candidates; 0 is the plain cosine
  ScoreWeights weights{};    // in the re-ranked head; a depth beyond 1024 takes the plain sum alone
  std::size_t cut_from = 0;  // not 0: the authors' protocol, see reranked_and_cut
  MatchParams match;
  std::string matcher = "auto";
  int threads = 0;
  bool nmi = false;  // cluster the globals of all images, whatever their roles; as many clusters as
                     // they have classes
  std::uint64_t seed = 0;
  std::vector<Role> roles{};  // [grids.size], or empty: every image is both
};

struct RerankResult {
  std::size_t rerank = 0;
  RetrievalMetrics metrics;
  std::map<std::int64_t, RetrievalMetrics> per_class;
};

struct Evaluation {
  std::size_t queries = 0;
  std::size_t left_out = 0;  // queries of whose class the gallery has no image, or only themselves
  std::size_t gallery = 0;
  std::vector<std::size_t> recall_ks;
  std::vector<RerankResult> results;  // in the order of EvaluateParams::rerank
  std::optional<double> nmi;
  double first_stage_seconds = 0.0;
  double rerank_seconds = 0.0;
};

// Every query against the gallery, without itself where it is in it; without roles, every grid
// against all the others. R is the number of gallery images of the query's class, the query not
// counted; the `_paper` numbers count it, in the gallery or not. labels: [grids.size].
Evaluation evaluate(GridSetView grids, std::span<const std::int64_t> labels,
                    const EvaluateParams& params = {}, const Progress& progress = {});

// The same by all processes of a call, who have the same grids and labels: each asks its share of
// the queries. What one alone would say, to the last bit, is on the one that writes; the others get
// no results.
Evaluation evaluate_together(ProcessGroup& processes, GridSetView grids,
                             std::span<const std::int64_t> labels,
                             const EvaluateParams& params = {}, const Progress& progress = {});

}  // namespace diml
