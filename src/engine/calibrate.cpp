#include "engine/calibrate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/enum_names.h"
#include "base/random.h"
#include "base/threads.h"
#include "diml/error.h"
#include "engine/retrieval_protocol.h"

namespace diml {
namespace {

constexpr EnumNames<3> kCriteria = {"p_at_1", "r_precision", "map_at_r"};
constexpr double kPercent = 100.0;

// Every setting on every query.
struct Table {
  std::vector<CalibrationTrial> settings;
  std::vector<std::vector<float>> values;  // [settings][queries], fractions
  std::vector<std::int64_t> queries;       // images
  std::size_t paper = 0;                   // which setting is the paper's
};

template <class Value>
std::vector<Value> with_paper(std::vector<Value> values, Value paper) {
  values.push_back(paper);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

double value_of(Criterion criterion, const RetrievalMetrics& metrics) {
  switch (criterion) {
    case Criterion::r_precision:
      return metrics.r_precision;
    case Criterion::map_at_r:
      return metrics.map_at_r;
    default:
      return metrics.p_at_1;
  }
}

void check_arguments(std::span<const CalibrationGrids> candidates,
                     std::span<const std::int64_t> labels, const CalibrateParams& params) {
  if (candidates.empty()) throw Error("calibration needs grids of at least one size");
  for (const CalibrationGrids& one : candidates) {
    if (one.grids.size != labels.size()) throw Error("calibration needs one label for each grid");
  }
  if (!params.roles.empty() && params.roles.size() != labels.size()) {
    throw Error("calibration needs one role for each grid, or none at all");
  }
  if (params.folds < 2)
    throw Error("folds must be at least 2: one is evaluated with what the others choose");
  if (params.depths.empty() || params.weights.empty() || params.lambdas.empty()) {
    throw Error("calibration needs at least one lambda, one weight and one depth");
  }
  for (const double weight : params.weights) check(ScoreWeights{1.0F, static_cast<float>(weight)});
  for (const double lambda : params.lambdas) {
    TransportParams transport;
    transport.lambda = lambda;
    check_params(transport);
  }
  constexpr std::size_t kDeepest = 1024;
  for (const std::size_t depth : params.depths) {
    if (depth < 1 || depth > kDeepest) throw Error("depths must be 1 to 1024");
  }
}

// Fills the table for one grid and one lambda, from one structural match of all candidates.
class Filler {
 public:
  Filler(std::span<const std::int64_t> labels, const CalibrateParams& params, Table& table)
      : labels_(labels), params_(params), table_(table), protocol_(labels, params.roles) {
    // Queries that have something to find.
    for (QueryGroup& group : protocol_.groups) {
      std::erase_if(group.ids, [&](std::int64_t id) { return relevant(id, group) == 0; });
      table_.queries.insert(table_.queries.end(), group.ids.begin(), group.ids.end());
    }
    if (table_.queries.empty()) {
      throw Error("the gallery has no other image of any query's class: nothing can be retrieved");
    }
  }

  // settings: numbers in the table that have this grid and lambda.
  void fill(const GridSetView& grids, double lambda, const std::vector<std::size_t>& settings,
            const Progress& progress) {
    MatchParams match = params_.match;
    match.transport.lambda = lambda;
    const Retriever retriever({grids, protocol_.gallery}, match, params_.backend, params_.threads);
    std::size_t head = 0;
    for (const std::size_t s : settings) head = std::max(head, table_.settings[s].rerank);
    const std::size_t wanted = std::max(head, protocol_.most_relevant(labels_) + 1);
    std::size_t row = 0;
    for (const QueryGroup& group : protocol_.groups) {
      const std::span<const std::int64_t> all = group.ids;
      const std::size_t depth =
          std::min(wanted, protocol_.gallery.size() - (group.in_gallery ? 1 : 0));
      for (std::size_t first = 0; first < all.size(); first += kAtOnce) {
        progress.stop_if_cancelled();
        const auto some = all.subspan(first, std::min(kAtOnce, all.size() - first));
        const auto itself = group.in_gallery ? some : std::span<const std::int64_t>();
        const GridSelection queries(grids, some);
        const ScoredRanking scored =
            retriever.match_head(queries, retriever.candidates(queries, depth, itself), head);
        parallel_for(some.size(), 16, params_.threads, [&](std::size_t begin, std::size_t end) {
          for (std::size_t q = begin; q < end; ++q) {
            judge(scored, q, row + q, relevant(some[q], group), settings);
          }
        });
        row += some.size();
        progress(row, table_.queries.size());
      }
    }
  }

 private:
  static constexpr std::size_t kAtOnce = 1024;

  std::size_t relevant(std::int64_t query, const QueryGroup& group) const {
    return protocol_.relevant(labels_[static_cast<std::size_t>(query)], group.in_gallery);
  }

  void judge(const ScoredRanking& scored, std::size_t q, std::size_t row, std::size_t relevant,
             const std::vector<std::size_t>& settings) const {
    const std::int64_t label = labels_[static_cast<std::size_t>(table_.queries[row])];
    std::vector<std::int64_t> ranked_labels;
    for (const std::size_t s : settings) {
      const CalibrationTrial& setting = table_.settings[s];
      const std::vector<std::int64_t> ranked =
          reranked(scored, q, std::min(setting.rerank, scored.head),
                   {1.0F, static_cast<float>(setting.weight)});
      ranked_labels.clear();
      for (const std::int64_t id : ranked) {
        ranked_labels.push_back(id < 0 ? kUnlabelled : labels_[static_cast<std::size_t>(id)]);
      }
      table_.values[s][row] = static_cast<float>(
          value_of(params_.criterion, metrics_.of_query(label, ranked_labels, relevant)));
    }
  }

  std::span<const std::int64_t> labels_;
  const CalibrateParams& params_;
  Table& table_;
  RetrievalProtocol protocol_;
  MetricsAccumulator metrics_;
};

Table judged_settings(std::span<const CalibrationGrids> candidates,
                      std::span<const std::int64_t> labels, const CalibrateParams& params,
                      const Progress& progress) {
  const Calibration paper;
  const std::vector<double> lambdas = with_paper(params.lambdas, paper.lambda);
  const std::vector<double> weights = with_paper(params.weights, paper.structural_weight);
  const std::vector<std::size_t> depths = with_paper(params.depths, paper.rerank);
  // The paper's grid, or the only one there is.
  const bool has_paper_grid =
      std::any_of(candidates.begin(), candidates.end(),
                  [&](const CalibrationGrids& one) { return one.grid == paper.grid; });
  const std::size_t paper_grid = has_paper_grid ? paper.grid : candidates.front().grid;
  Table table;
  Filler filler(labels, params, table);
  std::size_t done = 0;
  const std::size_t runs = candidates.size() * lambdas.size();
  for (const CalibrationGrids& one : candidates) {
    for (const double lambda : lambdas) {
      std::vector<std::size_t> settings;
      for (const double weight : weights) {
        for (const std::size_t depth : depths) {
          if (one.grid == paper_grid && lambda == paper.lambda &&
              weight == paper.structural_weight && depth == paper.rerank) {
            table.paper = table.settings.size();
          }
          settings.push_back(table.settings.size());
          table.settings.push_back({one.grid, lambda, weight, depth, 0.0});
          table.values.emplace_back(table.queries.size());
        }
      }
      const std::size_t queries = table.queries.size();
      filler.fill(one.grids, lambda, settings,
                  Progress([&](std::size_t q,
                               std::size_t) { progress(done * queries + q, runs * queries); },
                           [&] { return progress.cancelled(); }));
      ++done;
    }
  }
  return table;
}

// Which fold each query is in: classes are shuffled and dealt out.
std::vector<std::size_t> folds_of(const Table& table, std::span<const std::int64_t> labels,
                                  const CalibrateParams& params) {
  std::map<std::int64_t, std::size_t> fold_of_class;
  for (const std::int64_t image : table.queries) {
    fold_of_class[labels[static_cast<std::size_t>(image)]] = 0;
  }
  if (fold_of_class.size() < params.folds) {
    throw Error("there are " + std::to_string(fold_of_class.size()) +
                " classes with two images: calibration needs at least one for each of the " +
                std::to_string(params.folds) + " folds");
  }
  std::vector<std::int64_t> classes;
  for (const auto& [label, fold] : fold_of_class) classes.push_back(label);
  Random random(params.seed);
  for (std::size_t k = classes.size(); k > 1; --k) {
    std::swap(classes[k - 1], classes[random.below(k)]);
  }
  for (std::size_t k = 0; k < classes.size(); ++k) fold_of_class[classes[k]] = k % params.folds;
  std::vector<std::size_t> folds;
  for (const std::int64_t image : table.queries) {
    folds.push_back(fold_of_class.at(labels[static_cast<std::size_t>(image)]));
  }
  return folds;
}

// The setting with the best mean over the queries that count; ties go to the paper's, then to the
// first.
template <class Counts>
std::size_t best_of(const Table& table, const Counts& counts) {
  const auto mean = [&](std::size_t s) {
    double sum = 0.0;
    for (std::size_t q = 0; q < table.queries.size(); ++q) {
      if (counts(q)) sum += static_cast<double>(table.values[s][q]);
    }
    return sum;
  };
  std::size_t best = table.paper;
  double most = mean(best);
  for (std::size_t s = 0; s < table.settings.size(); ++s) {
    const double value = mean(s);
    if (value > most) {
      best = s;
      most = value;
    }
  }
  return best;
}

Calibration as_calibration(const CalibrationTrial& setting) {
  Calibration calibration;
  calibration.grid = setting.grid;
  calibration.lambda = setting.lambda;
  calibration.structural_weight = setting.weight;
  calibration.rerank = setting.rerank;
  return calibration;
}

// The evidence: `held` has each query's value with the setting that other classes chose. Queries of
// one class are right or wrong together, so the class is the unit of the standard error.
void add_evidence(Calibration& calibration, const Table& table, const std::vector<float>& held,
                  std::span<const std::int64_t> labels) {
  const std::vector<float>& paper = table.values[table.paper];
  double value = 0.0;
  double by_paper = 0.0;
  std::map<std::int64_t, std::pair<double, double>> of_class;  // gain, queries
  for (std::size_t q = 0; q < held.size(); ++q) {
    value += static_cast<double>(held[q]);
    by_paper += static_cast<double>(paper[q]);
    auto& [gain, count] = of_class[labels[static_cast<std::size_t>(table.queries[q])]];
    gain += static_cast<double>(held[q]) - static_cast<double>(paper[q]);
    count += 1.0;
  }
  const auto queries = static_cast<double>(held.size());
  const double mean_gain = (value - by_paper) / queries;
  double squares = 0.0;
  for (const auto& [label, sums] : of_class) {
    const double off = sums.first - mean_gain * sums.second;
    squares += off * off;
  }
  calibration.value = kPercent * value / queries;
  calibration.paper = kPercent * by_paper / queries;
  calibration.gain_error = kPercent * std::sqrt(squares) / queries;
  calibration.images = static_cast<std::size_t>(std::count_if(
      labels.begin(), labels.end(), [](std::int64_t label) { return label != kUnlabelled; }));
  calibration.classes = of_class.size();
}

}  // namespace

Criterion criterion_from(std::string_view name) {
  return value_in<Criterion>(kCriteria, name, "criterion");
}

const char* name_of(Criterion criterion) { return name_in(kCriteria, criterion); }

CalibrationResult calibrate(std::span<const CalibrationGrids> candidates,
                            std::span<const std::int64_t> labels, const CalibrateParams& params,
                            const Progress& progress) {
  check_arguments(candidates, labels, params);
  Table table = judged_settings(candidates, labels, params, progress);
  const std::vector<std::size_t> folds = folds_of(table, labels, params);
  CalibrationResult result;
  std::vector<float> held(table.queries.size());
  for (std::size_t fold = 0; fold < params.folds; ++fold) {
    const std::size_t chosen = best_of(table, [&](std::size_t q) { return folds[q] != fold; });
    for (std::size_t q = 0; q < held.size(); ++q) {
      if (folds[q] == fold) held[q] = table.values[chosen][q];
    }
    result.of_folds.push_back(as_calibration(table.settings[chosen]));
  }
  const std::size_t best = best_of(table, [](std::size_t) { return true; });
  result.chosen = as_calibration(table.settings[best]);
  add_evidence(result.chosen, table, held, labels);
  result.unlabelled = labels.size() - result.chosen.images;
  result.changed =
      best != table.paper && result.chosen.value - result.chosen.paper > result.chosen.gain_error;
  if (!result.changed) {
    const Calibration evidence = result.chosen;
    result.chosen = as_calibration(table.settings[table.paper]);
    result.chosen.value = result.chosen.paper = evidence.paper;
    result.chosen.images = evidence.images;
    result.chosen.classes = evidence.classes;
  }
  result.chosen.criterion = name_of(params.criterion);
  result.chosen.folds = params.folds;
  for (std::size_t s = 0; s < table.settings.size(); ++s) {
    const double sum = std::accumulate(table.values[s].begin(), table.values[s].end(), 0.0);
    table.settings[s].value = kPercent * sum / static_cast<double>(table.queries.size());
  }
  result.trials = std::move(table.settings);
  std::stable_sort(
      result.trials.begin(), result.trials.end(),
      [](const CalibrationTrial& x, const CalibrationTrial& y) { return x.value > y.value; });
  return result;
}

}  // namespace diml
