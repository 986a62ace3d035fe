#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diml/metrics.h"
#include "diml/progress.h"
#include "diml/retriever.h"

namespace diml {

// Whether an image is a query, in the gallery, or both. The values are those of `.npy` files.
enum class Role : std::uint8_t { query = 1, gallery = 2, both = 3 };

// The label of an image whose class is not known. It takes no part in an evaluation: it is no
// query, and as it may show the class of one, it is not in the gallery.
inline constexpr std::int64_t kUnlabelled = -1;

struct EvaluateParams {
  // Each K is evaluated from its own candidates; 0 is the plain cosine.
  std::vector<std::size_t> rerank = {0, 100};
  ScoreWeights weights{};    // in the re-ranked head; depths above 1024 support only the plain sum
  std::size_t cut_from = 0;  // not 0: the authors' protocol, see reranked_and_cut
  MatchParams match;
  Backend backend = Backend::fastest;
  int threads = 0;
  // Also clusters the globals of all images, whatever their roles, into as many clusters as there
  // are classes.
  bool nmi = false;
  std::uint64_t seed = 0;
  std::vector<Role> roles{};  // [grids.size], or empty: every image is both
  bool per_query = false;     // keep what each query found
};

// What one query found with one depth of re-ranking. Fractions from 0 to 1.
struct QueryResult {
  std::int64_t image = 0;       // the query's number in the set
  std::int64_t nearest = 0;     // the image that it finds first
  float nearest_total = 0.0F;   // the score that puts it there, as in Hit::total
  std::size_t first_right = 0;  // rank of the first image of its class, from 1; 0: beyond the list
  double p_at_1 = 0.0;
  double r_precision = 0.0;
  double average_precision = 0.0;  // at R: its mean over the queries is MAP@R
};

struct RerankResult {
  std::size_t rerank = 0;
  RetrievalMetrics metrics;
  std::map<std::int64_t, RetrievalMetrics> per_class;
  // With EvaluateParams::per_query, by image, the same queries for every depth. Those left out are
  // not among them.
  std::vector<QueryResult> queries{};
};

struct Evaluation {
  std::size_t queries = 0;
  std::size_t left_out = 0;  // queries without another gallery image of their class
  std::size_t gallery = 0;
  std::size_t unlabelled = 0;  // images that took no part
  std::size_t listed = 0;      // the least length of a list, unless the gallery is smaller
  std::vector<std::size_t> recall_ks;
  std::vector<RerankResult> results;  // in the order of EvaluateParams::rerank
  std::optional<double> nmi;
  double first_stage_seconds = 0.0;
  double rerank_seconds = 0.0;
};

// Every query against the gallery, without itself where it is in it; without roles, every grid
// against all the others. R is the number of gallery images of the query's class, the query not
// counted; the `_paper` numbers count it, in the gallery or not. labels: [grids.size], kUnlabelled
// where a class is not known. Throws where no image has a label. Can be cancelled between two
// blocks of queries.
Evaluation evaluate(GridSetView grids, std::span<const std::int64_t> labels,
                    const EvaluateParams& params = {}, const Progress& progress = {});

}  // namespace diml
