#include "diml/evaluate.h"
#include "base/stopwatch.h"
#include "base/threads.h"
#include "engine/process_group.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <unordered_map>

#include "base/sha256.h"
#include "diml/error.h"
#include "engine/query_results.h"
#include "search/kmeans.h"

namespace diml {
namespace {

// Queries between two updates of the progress: bounds memory, whatever the size of the gallery and
// of its classes.
constexpr std::size_t kMostQueriesAtOnce = 8192;
constexpr std::size_t kPlacesAtOnce = std::size_t{1} << 22;  // of ranked lists
// Of matching in one block, in pairs of cells: about a second on two cores.
constexpr std::size_t kWorkAtOnce = std::size_t{1} << 28;
// A longer head that is the whole gallery is not kept in memory: all pairs are matched, and the
// best are kept.
constexpr std::size_t kLongestHead = 1024;

// Queries that are all in the gallery, or all outside of it: a list of the first stage is as long
// as the gallery, less the query itself.
struct QueryGroup {
  bool in_gallery = false;
  std::vector<std::int64_t> ids{};
};

// Which images are queries, and which are in the gallery.
struct Protocol {
  std::array<QueryGroup, 2> groups = {QueryGroup{true}, QueryGroup{false}};
  std::vector<std::int64_t> gallery{};
  std::size_t unlabelled = 0;
  std::unordered_map<std::int64_t, std::size_t> class_sizes{};  // in the gallery

  std::size_t queries() const { return groups[0].ids.size() + groups[1].ids.size(); }
  // R: the query itself is not among what it may find.
  std::size_t relevant(std::int64_t label, bool in_gallery) const {
    const auto found = class_sizes.find(label);
    return found == class_sizes.end() ? 0 : found->second - (in_gallery ? 1 : 0);
  }
};

Protocol protocol_of(std::span<const std::int64_t> labels, std::span<const Role> roles) {
  Protocol protocol;
  for (std::size_t image = 0; image < labels.size(); ++image) {
    const Role role = roles.empty() ? Role::both : roles[image];
    if (role != Role::query && role != Role::gallery && role != Role::both) {
      throw Error("image " + std::to_string(image) +
                  " has no role: make it a query, of the gallery or both, or leave it out");
    }
    if (labels[image] == kUnlabelled) {
      ++protocol.unlabelled;
      continue;
    }
    const auto id = static_cast<std::int64_t>(image);
    if (role != Role::query) {
      protocol.gallery.push_back(id);
      ++protocol.class_sizes[labels[image]];
    }
    if (role != Role::gallery) protocol.groups[role == Role::both ? 0 : 1].ids.push_back(id);
  }
  if (protocol.unlabelled == labels.size()) {
    throw Error("no image has a label: evaluation compares classes, so name them");
  }
  if (protocol.queries() == 0)
    throw Error("no image is a query: make some of them queries, or both");
  if (protocol.gallery.empty()) {
    throw Error("no image is in the gallery: put some of them there, or make them both");
  }
  return protocol;
}

void check_arguments(GridSetView grids, std::span<const std::int64_t> labels,
                     const EvaluateParams& params) {
  if (labels.size() != grids.size) {
    throw Error("there are " + std::to_string(grids.size) + " grids and " +
                std::to_string(labels.size()) + " labels: one label a grid is needed");
  }
  if (!params.roles.empty() && params.roles.size() != grids.size) {
    throw Error("there are " + std::to_string(grids.size) + " grids and " +
                std::to_string(params.roles.size()) +
                " roles: one role a grid is needed, or none at all");
  }
  if (grids.size < 2) throw Error("evaluation needs at least two images");
  if (params.rerank.empty())
    throw Error("evaluation needs at least one re-ranking depth, such as 0");
  const std::size_t deepest = *std::max_element(params.rerank.begin(), params.rerank.end());
  check(params.weights);
  const bool plain = params.weights.global == 1.0F && params.weights.structural == 1.0F;
  if (deepest > kLongestHead && (!plain || params.cut_from > 0)) {
    throw Error("weights of the two similarities, and lists that are cut, go with re-ranking of " +
                std::to_string(kLongestHead) + " at most: take a smaller depth");
  }
}

// The largest R of a query.
std::size_t most_relevant(const Protocol& protocol, std::span<const std::int64_t> labels) {
  std::size_t most = 0;
  for (const QueryGroup& group : protocol.groups) {
    for (const std::int64_t id : group.ids) {
      most =
          std::max(most, protocol.relevant(labels[static_cast<std::size_t>(id)], group.in_gallery));
    }
  }
  return most;
}

// How much of each list is needed, for each depth of re-ranking.
class Depths {
 public:
  Depths(const EvaluateParams& params, std::size_t gallery, std::size_t largest_relevant,
         const std::vector<std::size_t>& recall_ks)
      : gallery_(gallery),
        head_(params.cut_from),
        // As deep as any metric needs: R + 1 places for the paper's counting, or the largest k of
        // recall.
        looked_at_(
            std::max(largest_relevant + 1, *std::max_element(recall_ks.begin(), recall_ks.end()))) {
    for (const std::size_t k : params.rerank) {
      if (takes_in_everything(k)) {
        everything_ = true;
      } else {
        head_ = std::max(head_, k);
      }
    }
  }

  bool takes_in_everything(std::size_t k) const { return k > kLongestHead && k + 1 >= gallery_; }
  bool everything() const { return everything_; }
  std::size_t head() const { return head_; }
  std::size_t looked_at() const { return looked_at_; }
  std::size_t listed() const { return std::max(head_, looked_at_); }

 private:
  std::size_t gallery_;
  std::size_t head_;
  std::size_t looked_at_;
  bool everything_ = false;
};

// The ranked lists of some queries.
struct Found {
  ScoredRanking scored;
  Ranking best;  // of the whole gallery, where a depth takes it in

  std::vector<std::int64_t> ranked(std::size_t query, std::size_t k, const Depths& depths,
                                   const EvaluateParams& params) const {
    if (params.cut_from > 0) {
      return reranked_and_cut(scored, query, k, std::min(params.cut_from, scored.head),
                              params.weights);
    }
    if (!depths.takes_in_everything(k)) {
      return reranked(scored, query, std::min(k, scored.head), params.weights);
    }
    const std::span<const std::int64_t> ids = best.ids_of(query);
    return {ids.begin(), ids.end()};
  }
};

// Each process evaluates whole classes, in turn: all sums of a class are then computed by one
// process, in the order of a process alone, and have the same bits.
class Turns {
 public:
  Turns(const ProcessGroup& processes, std::span<const std::int64_t> labels) {
    if (processes.size() == 1) return;
    own_.emplace();
    std::unordered_map<std::int64_t, std::size_t> numbers;
    for (const std::int64_t label : labels) {
      const std::size_t number = numbers.emplace(label, numbers.size()).first->second;
      own_->push_back(number % processes.size() == processes.rank());
    }
  }

  std::vector<std::int64_t> own_of(std::span<const std::int64_t> queries) const {
    std::vector<std::int64_t> own;
    std::copy_if(queries.begin(), queries.end(), std::back_inserter(own),
                 [&](std::int64_t id) { return !own_ || (*own_)[static_cast<std::size_t>(id)]; });
    return own;
  }

 private:
  std::optional<std::vector<bool>> own_;  // by image; all of them where there is none
};

void expect_same_data(ProcessGroup& processes, GridSetView grids,
                      std::span<const std::int64_t> labels, std::span<const Role> roles) {
  if (processes.size() == 1) return;
  Sha256 sha;
  const std::size_t shape[] = {grids.size, grids.cells_per_grid, grids.dim};
  const auto add = [&](const auto* data, std::size_t count) {
    sha.update({reinterpret_cast<const std::uint8_t*>(data), count * sizeof(*data)});
  };
  add(shape, 3);
  add(labels.data(), labels.size());
  add(roles.data(), roles.size());
  processes.expect_same(sha.hex(), "grids, labels or roles");
}

void count_queries(const Found& found, std::span<const std::int64_t> ids,
                   std::span<const std::int64_t> labels, const Protocol& protocol, bool in_gallery,
                   const Depths& depths, const EvaluateParams& params,
                   std::vector<Counted>& counted) {
  const std::size_t results = params.rerank.size();
  std::vector<RetrievalMetrics> of_queries(ids.size() * results);
  std::vector<QueryResult> kept(params.per_query ? ids.size() * results : 0);
  parallel_for(ids.size(), 64, params.threads, [&](std::size_t begin, std::size_t end) {
    std::vector<std::int64_t> ranked_labels;
    for (std::size_t q = begin; q < end; ++q) {
      const std::int64_t label = labels[static_cast<std::size_t>(ids[q])];
      for (std::size_t r = 0; r < results; ++r) {
        ranked_labels.clear();
        const std::vector<std::int64_t> ranked = found.ranked(q, params.rerank[r], depths, params);
        for (const std::int64_t id : ranked) {
          ranked_labels.push_back(labels[static_cast<std::size_t>(id)]);
        }
        RetrievalMetrics& metrics = of_queries[q * results + r];
        metrics =
            counted[r].metrics.of_query(label, ranked_labels, protocol.relevant(label, in_gallery));
        if (params.per_query && metrics.queries > 0) {
          kept[q * results + r] = query_result(ids[q], label, ranked, ranked_labels, metrics);
        }
      }
    }
  });
  // In the queries' order: sums must not depend on the number of threads.
  for (std::size_t q = 0; q < ids.size(); ++q) {
    const std::int64_t label = labels[static_cast<std::size_t>(ids[q])];
    for (std::size_t r = 0; r < results; ++r) {
      const RetrievalMetrics& metrics = of_queries[q * results + r];
      counted[r].metrics.add(label, metrics);
      if (params.per_query && metrics.queries > 0)
        counted[r].queries.push_back(kept[q * results + r]);
    }
  }
}

// Of all labelled images, whatever their roles.
double clustering_nmi(GridSetView grids, std::span<const std::int64_t> labels,
                      const EvaluateParams& params, const Progress& progress) {
  std::vector<float> globals;
  std::vector<std::int64_t> known;
  for (std::size_t image = 0; image < labels.size(); ++image) {
    if (labels[image] == kUnlabelled) continue;
    const float* global = grids[image].global;
    globals.insert(globals.end(), global, global + grids.dim);
    known.push_back(labels[image]);
  }
  const std::set<std::int64_t> classes(known.begin(), known.end());
  const std::vector<std::int64_t> clusters = kmeans(
      {globals.data(), known.size(), grids.dim},
      {.clusters = classes.size(), .seed = params.seed, .threads = params.threads}, progress);
  return normalised_mutual_information(known, clusters);
}

}  // namespace

Evaluation evaluate(GridSetView grids, std::span<const std::int64_t> labels,
                    const EvaluateParams& params, const Progress& progress) {
  ProcessGroup alone;
  return evaluate_together(alone, grids, labels, params, progress);
}

Evaluation evaluate_together(ProcessGroup& processes, GridSetView grids,
                             std::span<const std::int64_t> labels, const EvaluateParams& params,
                             const Progress& progress) {
  check_arguments(grids, labels, params);
  expect_same_data(processes, grids, labels, params.roles);
  const Protocol protocol = protocol_of(labels, params.roles);
  const std::size_t largest_relevant = most_relevant(protocol, labels);
  if (largest_relevant == 0) {
    throw Error(params.roles.empty()
                    ? "every image is alone in its class, so there is nothing to find: check the "
                      "labels"
                    : "the gallery has no other image of any query's class, so there is nothing to "
                      "find: check the labels and the roles");
  }
  std::vector<Counted> counted(params.rerank.size());
  const std::vector<std::size_t> recall_ks = counted.front().metrics.recall_ks();
  const Depths depths(params, protocol.gallery.size(), largest_relevant, recall_ks);
  const std::size_t work_of_query =
      std::max<std::size_t>(1, depths.head()) * grids.cells_per_grid * grids.cells_per_grid;
  const std::size_t at_once = std::clamp<std::size_t>(std::min(kPlacesAtOnce / depths.listed(),
                                                               kWorkAtOnce / work_of_query),
                                                      16, kMostQueriesAtOnce) *
                              processes.size();

  Evaluation evaluation;
  evaluation.recall_ks = recall_ks;
  evaluation.listed = depths.everything() ? depths.looked_at() : depths.listed();
  const GridSelection gallery = protocol.gallery.size() == grids.size
                                    ? GridSelection(grids)
                                    : GridSelection(grids, protocol.gallery);
  const Retriever retriever(gallery, params.match, params.backend, params.threads);
  const Turns turns(processes, labels);
  std::size_t asked = 0;
  for (const QueryGroup& group : protocol.groups) {
    for (std::size_t first = 0; first < group.ids.size(); first += at_once) {
      const auto block = std::span<const std::int64_t>(group.ids).subspan(
          first, std::min(at_once, group.ids.size() - first));
      const std::vector<std::int64_t> own = turns.own_of(block);
      const std::span<const std::int64_t> ids(own);
      const GridSelection queries(grids, ids);
      const auto itself = group.in_gallery ? ids : std::span<const std::int64_t>();
      Stopwatch watch;
      Ranking ranking = retriever.candidates(queries, depths.listed(), itself, progress);
      evaluation.first_stage_seconds += watch.restart();
      Found found{retriever.match_head(queries, std::move(ranking), depths.head(), progress), {}};
      if (depths.everything()) {
        // A block may take minutes. Each process has its share of the block.
        const Progress within(
            [&](std::size_t done, std::size_t of) {
              progress(asked + done * block.size() / of, protocol.queries());
            },
            [&] { return progress.cancelled(); });
        found.best = retriever.structural_candidates(queries, depths.looked_at(), itself, within);
      }
      count_queries(found, ids, labels, protocol, group.in_gallery, depths, params, counted);
      processes.all_gather("");  // one that has ended is noticed now, not after hours
      asked += block.size();
      evaluation.rerank_seconds += watch.seconds();
      progress(asked, protocol.queries());
    }
  }

  std::size_t left_out = 0;
  for (std::size_t r = 0; r < params.rerank.size(); ++r) {
    RerankResult result = gathered(processes, counted[r], params.rerank[r], left_out);
    if (processes.is_root()) evaluation.results.push_back(std::move(result));
  }
  if (!processes.is_root()) return evaluation;
  evaluation.left_out = left_out;
  evaluation.queries = protocol.queries() - left_out;
  evaluation.gallery = protocol.gallery.size();
  evaluation.unlabelled = protocol.unlabelled;
  if (params.nmi) evaluation.nmi = clustering_nmi(grids, labels, params, progress);
  return evaluation;
}

}  // namespace diml
