#include "engine/rerank_gain.h"

#include <algorithm>
#include <array>

#include "base/enum_names.h"
#include "diml/error.h"

namespace diml {
namespace {

constexpr EnumNames<3> kChanges = {"same", "fixed", "broken"};
constexpr std::size_t kMetrics = 3;

std::array<double, kMetrics> numbers_of(const QueryResult& query) {
  return {query.p_at_1, query.r_precision, query.average_precision};
}

RerankGain gain_of(const std::vector<QueryResult>& before, const RerankResult& after) {
  RerankGain gain;
  gain.rerank = after.rerank;
  for (std::size_t q = 0; q < before.size(); ++q) {
    const Change change = change_of(before[q], after.queries[q]);
    ++(change == Change::fixed ? gain.fixed : change == Change::broken ? gain.broken : gain.same);
  }
  return gain;
}

// One row a query: the metrics of every result, then the differences of every gain.
std::vector<double> rows_of(const Evaluation& evaluation, const DepthComparison& comparison) {
  const std::vector<RerankResult>& results = evaluation.results;
  std::vector<double> rows;
  rows.reserve(evaluation.queries * kMetrics * (results.size() + comparison.gains.size()));
  for (std::size_t q = 0; q < evaluation.queries; ++q) {
    for (const RerankResult& result : results) {
      for (const double value : numbers_of(result.queries[q])) rows.push_back(value);
    }
    for (const RerankGain& gain : comparison.gains) {
      const auto after = numbers_of(results[gain.result].queries[q]);
      const auto before = numbers_of(results[*comparison.plain].queries[q]);
      for (std::size_t m = 0; m < kMetrics; ++m) rows.push_back(after[m] - before[m]);
    }
  }
  return rows;
}

}  // namespace

const char* name_of(Change change) { return name_in(kChanges, change); }

Change change_of(const QueryResult& before, const QueryResult& after) {
  if (before.p_at_1 == after.p_at_1) return Change::same;
  return after.p_at_1 > before.p_at_1 ? Change::fixed : Change::broken;
}

std::string RerankGain::summary() const {
  const auto counted = [](std::size_t count) {
    return std::to_string(count) + (count == 1 ? " query" : " queries");
  };
  return "re-ranking with " + std::to_string(rerank) + " fixes " + counted(fixed) + " and breaks " +
         std::to_string(broken);
}

DepthComparison compare_depths(const Evaluation& evaluation, const BootstrapParams& bootstrap,
                               const Progress& progress) {
  const std::vector<RerankResult>& results = evaluation.results;
  for (const RerankResult& result : results) {
    if (result.queries.size() != evaluation.queries) {
      throw Error(ErrorKind::internal, "depths are compared by the results of their queries");
    }
  }
  DepthComparison comparison;
  const auto plain = std::find_if(results.begin(), results.end(),
                                  [](const RerankResult& result) { return result.rerank == 0; });
  if (plain != results.end()) {
    comparison.plain = static_cast<std::size_t>(plain - results.begin());
    for (std::size_t r = 0; r < results.size(); ++r) {
      if (results[r].rerank == 0) continue;
      RerankGain gain = gain_of(plain->queries, results[r]);
      gain.result = r;
      gain.p_at_1 = results[r].metrics.p_at_1 - plain->metrics.p_at_1;
      gain.r_precision = results[r].metrics.r_precision - plain->metrics.r_precision;
      gain.map_at_r = results[r].metrics.map_at_r - plain->metrics.map_at_r;
      comparison.gains.push_back(gain);
    }
  }
  if (bootstrap.resamples == 0) return comparison;
  const std::size_t columns = kMetrics * (results.size() + comparison.gains.size());
  const std::vector<Interval> all =
      bootstrap_means(rows_of(evaluation, comparison), columns, bootstrap, progress);
  const auto three = [&all](std::size_t place) {
    return MetricIntervals{all[kMetrics * place], all[kMetrics * place + 1],
                           all[kMetrics * place + 2]};
  };
  for (std::size_t r = 0; r < results.size(); ++r) comparison.intervals.push_back(three(r));
  for (std::size_t g = 0; g < comparison.gains.size(); ++g) {
    comparison.gains[g].intervals = three(results.size() + g);
  }
  return comparison;
}

}  // namespace diml
