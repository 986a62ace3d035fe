#include "network_cells.h"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "diml/dataset.h"
#include "diml/error.h"
#include "diml/evaluate_dataset.h"
#include "diml/open_network.h"
#include "engine/embed_parts.h"

namespace diml::experiments {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kPercent = 100.0;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What grids depend on besides the network.
auto grids_of(const PlannedCell& cell) {
  const Look& look = cell.look;
  return std::make_tuple(cell.quantity, look.split, look.grid, look.pooling, look.resize, look.crop,
                         cell.quantity == Quantity::parts ? look.lambda : 0.0);
}

Dataset images_of(const std::string& split, const RunParams& params) {
  if (split == "test") return load_dataset(params.dataset, params.root, Split::test);
  Dataset data = load_dataset(params.dataset, params.root, Split::train);
  const std::set<std::int64_t> held_out = held_out_classes(data);
  std::erase_if(data.samples,
                [&](const Sample& sample) { return !held_out.contains(sample.label); });
  return data;
}

class Looker {
 public:
  Looker(const std::string& model, bool projection, const Look& look, const RunParams& params)
      : params_(params),
        data_(images_of(look.split, params)),
        embedder_(opened(model, projection, look)) {}

  // All cells of one kind of grids.
  bool look(const std::vector<const PlannedCell*>& cells, const std::function<bool()>& stop,
            const std::function<void(const PlannedCell&, const Seen&)>& sink) {
    return cells.front()->quantity == Quantity::parts ? parts(cells, sink)
                                                      : retrieval(cells, stop, sink);
  }

 private:
  Embedder opened(const std::string& model, bool projection, const Look& look) const {
    OpenNetworkParams how;
    how.network.device = params_.device;
    how.network.threads = params_.threads;
    how.network.projection = projection;
    if (!look.resize.empty()) how.preprocessing["resize"] = look.resize;
    if (!look.crop.empty()) how.preprocessing["crop"] = look.crop;
    OpenedNetwork network = open_network(model, how);
    return {std::move(network.network),
            network.preprocessing,
            {.grid = look.grid,
             .pooling = pooling_rule_from(look.pooling),
             .batch = default_batch(params_.device),
             .threads = params_.threads}};
  }

  MatchParams match_of(const Look& look) const {
    MatchParams match;
    match.marginals = marginal_rule_from(look.marginals);
    match.transport.lambda = look.lambda;
    check_params(match.transport);
    return match;
  }

  EvaluateParams way_of(const PlannedCell& cell) const {
    EvaluateParams way;
    way.rerank = {cell.look.rerank};
    way.cut_from = cell.look.cut_from;
    way.weights = {static_cast<float>(cell.look.global_weight),
                   static_cast<float>(cell.look.structural_weight)};
    way.match = match_of(cell.look);
    way.threads = params_.threads;
    // What was chosen is looked at once: what the cosine alone gives is asked then, too.
    if (!cell.chosen.empty()) way.rerank.push_back(0);
    return way;
  }

  static std::map<std::string, double> numbers_of(const PlannedCell& cell,
                                                  const Evaluation& evaluation) {
    const RetrievalMetrics& metrics = evaluation.results.front().metrics;
    std::map<std::string, double> numbers = {
        {"p_at_1", kPercent * metrics.p_at_1},
        {"r_precision", kPercent * metrics.r_precision},
        {"map_at_r", kPercent * metrics.map_at_r},
        {"r_precision_paper", kPercent * metrics.r_precision_paper},
        {"map_at_r_paper", kPercent * metrics.map_at_r_paper}};
    if (!cell.chosen.empty()) {
      numbers["p_at_1_by_cosine"] = kPercent * evaluation.results.back().metrics.p_at_1;
    }
    return numbers;
  }

  bool retrieval(const std::vector<const PlannedCell*>& cells, const std::function<bool()>& stop,
                 const std::function<void(const PlannedCell&, const Seen&)>& sink) {
    auto start = Clock::now();
    const LabelledImages images = labelled_images(data_);
    EvaluateDatasetParams how;
    how.ways.clear();
    for (const PlannedCell* cell : cells) how.ways.push_back(way_of(*cell));
    const auto tell = [&](std::size_t way, const Evaluation& evaluation) {
      const PlannedCell& cell = *cells[way];
      sink(cell, {numbers_of(cell, evaluation), images.paths.size(), seconds_since(start)});
      start = Clock::now();
    };
    ProcessGroup alone;
    return evaluate_dataset(alone, embedder_, images, how, {.stop = stop, .on_result = tell})
        .has_value();
  }

  bool parts(const std::vector<const PlannedCell*>& cells,
             const std::function<void(const PlannedCell&, const Seen&)>& sink) {
    const auto start = Clock::now();
    const PartGrids judged = embed_parts(embedder_, data_, {});
    const std::vector<PartMethod> methods =
        judge_parts(judged.grids.view(), judged.shape, judged.parts, judged.pairs,
                    {match_of(cells.front()->look), params_.threads});
    const double seconds = seconds_since(start) / static_cast<double>(cells.size());
    for (const PlannedCell* cell : cells) {
      const auto found =
          std::find_if(methods.begin(), methods.end(),
                       [&](const PartMethod& method) { return method.name == cell->look.method; });
      sink(*cell, {{{"exact", kPercent * found->exact},
                    {"within_one", kPercent * found->within_one},
                    {"exact_error", kPercent * found->exact_error},
                    {"within_one_error", kPercent * found->within_error}},
                   judged.labels.size(),
                   seconds});
    }
    return true;
  }

  const RunParams& params_;
  Dataset data_;
  Embedder embedder_;
};

}  // namespace

bool look_at_network(const std::string& model, bool projection,
                     const std::vector<PlannedCell>& cells, const RunParams& params,
                     const std::function<bool()>& stop,
                     const std::function<void(const PlannedCell&, const Seen&)>& sink) {
  std::vector<const PlannedCell*> left;
  left.reserve(cells.size());
  for (const PlannedCell& cell : cells) left.push_back(&cell);
  while (!left.empty()) {
    if (stop && stop()) return false;
    const auto grids = grids_of(*left.front());
    const auto others =
        std::stable_partition(left.begin(), left.end(),
                              [&](const PlannedCell* cell) { return grids_of(*cell) == grids; });
    const std::vector<const PlannedCell*> alike(left.begin(), others);
    left.erase(left.begin(), others);
    Looker looker(model, projection, alike.front()->look, params);
    if (!looker.look(alike, stop, sink)) return false;
  }
  return true;
}

}  // namespace diml::experiments
