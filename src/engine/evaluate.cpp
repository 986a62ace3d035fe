#include "diml/evaluate.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <unordered_map>

#include "diml/error.h"
#include "diml/kmeans.h"
#include "diml/retriever.h"

namespace diml {
namespace {

// Queries between two updates of the progress: bounds memory, whatever the size of the gallery and
// of its classes.
constexpr std::size_t kMostQueriesAtOnce = 2048;
constexpr std::size_t kPlacesAtOnce = std::size_t{1} << 22;  // of ranked lists

class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds), start_(Clock::now()) {}
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  double& seconds_;
  Clock::time_point start_;
};

GridSetView slice(GridSetView grids, std::size_t first, std::size_t count) {
  GridSetView part = grids;
  part.cells = grids[first].cells;
  part.globals = grids[first].global;
  part.size = count;
  return part;
}

}  // namespace

Evaluation evaluate(GridSetView grids, std::span<const std::int64_t> labels,
                    const EvaluateParams& params, const Progress& progress) {
  if (labels.size() != grids.size) {
    throw Error("there are " + std::to_string(grids.size) + " grids and " +
                std::to_string(labels.size()) + " labels: one label a grid is needed");
  }
  if (grids.size < 2) throw Error("evaluation needs at least two images");
  if (params.rerank.empty())
    throw Error("evaluation needs at least one re-ranking depth, such as 0");

  std::unordered_map<std::int64_t, std::size_t> class_sizes;
  for (const std::int64_t label : labels) ++class_sizes[label];
  std::size_t largest_class = 0;
  for (const auto& [label, size] : class_sizes) largest_class = std::max(largest_class, size);
  if (largest_class < 2) {
    throw Error("every image is alone in its class, so there is nothing to find: check the labels");
  }
  const std::size_t head = *std::max_element(params.rerank.begin(), params.rerank.end());
  std::vector<MetricsAccumulator> accumulators(params.rerank.size());
  const std::vector<std::size_t> recall_ks = accumulators.front().recall_ks();
  // As deep as any number looks: R + 1 places for the paper's counting, the largest k of recall,
  // the head.
  const std::size_t depth =
      std::max({head, largest_class, *std::max_element(recall_ks.begin(), recall_ks.end())});

  const std::size_t at_once =
      std::clamp<std::size_t>(kPlacesAtOnce / depth, 16, kMostQueriesAtOnce);

  Evaluation evaluation;
  evaluation.recall_ks = recall_ks;
  const Retriever retriever(grids, params.match, params.matcher, params.threads);
  for (std::size_t first = 0; first < grids.size; first += at_once) {
    const std::size_t count = std::min(at_once, grids.size - first);
    const GridSetView queries = slice(grids, first, count);
    std::vector<std::int64_t> themselves(count);
    std::iota(themselves.begin(), themselves.end(), static_cast<std::int64_t>(first));
    Ranking ranking;
    {
      const Stopwatch watch(evaluation.first_stage_seconds);
      ranking = retriever.candidates(queries, depth, themselves);
    }
    const Stopwatch watch(evaluation.rerank_seconds);
    const ScoredRanking scored = retriever.match_head(queries, std::move(ranking), head);
    std::vector<std::int64_t> ranked_labels;
    for (std::size_t q = 0; q < count; ++q) {
      const std::int64_t label = labels[first + q];
      for (std::size_t r = 0; r < params.rerank.size(); ++r) {
        ranked_labels.clear();
        for (const std::int64_t id : reranked(scored, q, std::min(params.rerank[r], scored.head))) {
          ranked_labels.push_back(labels[static_cast<std::size_t>(id)]);
        }
        accumulators[r].add(label, ranked_labels, class_sizes[label] - 1);
      }
    }
    if (progress) progress(first + count, grids.size);
  }

  for (std::size_t r = 0; r < params.rerank.size(); ++r) {
    evaluation.results.push_back(
        {params.rerank[r], accumulators[r].overall(), accumulators[r].per_class()});
  }
  evaluation.left_out = accumulators.front().left_out();
  evaluation.queries = grids.size - evaluation.left_out;
  if (params.nmi) {
    const std::vector<std::int64_t> clusters = kmeans(
        {grids.globals, grids.size, grids.dim},
        {.clusters = class_sizes.size(), .seed = params.seed, .threads = params.threads}, progress);
    evaluation.nmi = normalised_mutual_information(labels, clusters);
  }
  return evaluation;
}

}  // namespace diml
