#include "diml/metrics.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/message.h"
#include "diml/error.h"

namespace diml {
namespace {

struct PrecisionAtR {
  double r_precision;
  double average_precision;
};

// Over the first r ranks; ranks beyond the end of the gallery count as misses.
PrecisionAtR precision_at_r(std::int64_t label, std::span<const std::int64_t> ranked,
                            std::size_t r) {
  std::size_t hits = 0;
  double precisions = 0.0;
  for (std::size_t rank = 0; rank < std::min(r, ranked.size()); ++rank) {
    if (ranked[rank] != label) continue;
    ++hits;
    precisions += static_cast<double>(hits) / static_cast<double>(rank + 1);
  }
  return {static_cast<double>(hits) / static_cast<double>(r), precisions / static_cast<double>(r)};
}

template <class Operation>
void combine(RetrievalMetrics& into, const RetrievalMetrics& from, Operation operation) {
  operation(into.p_at_1, from.p_at_1);
  operation(into.r_precision, from.r_precision);
  operation(into.map_at_r, from.map_at_r);
  operation(into.r_precision_paper, from.r_precision_paper);
  operation(into.map_at_r_paper, from.map_at_r_paper);
  into.recall_at.resize(from.recall_at.size());
  for (std::size_t k = 0; k < from.recall_at.size(); ++k) {
    operation(into.recall_at[k], from.recall_at[k]);
  }
}

void add_to(RetrievalMetrics& sum, const RetrievalMetrics& one) {
  sum.queries += one.queries;
  combine(sum, one, [](double& x, double y) { x += y; });
}

RetrievalMetrics mean_of(const RetrievalMetrics& sum) {
  RetrievalMetrics mean = sum;
  if (sum.queries == 0) return mean;
  combine(mean, sum, [&sum](double& x, double y) { x = y / static_cast<double>(sum.queries); });
  return mean;
}

}  // namespace

MetricsAccumulator::MetricsAccumulator(std::vector<std::size_t> recall_ks)
    : recall_ks_(std::move(recall_ks)) {}

RetrievalMetrics MetricsAccumulator::of_query(std::int64_t label,
                                              std::span<const std::int64_t> ranked_labels,
                                              std::size_t relevant) const {
  if (relevant == 0) return {};
  const PrecisionAtR standard = precision_at_r(label, ranked_labels, relevant);
  const PrecisionAtR paper = precision_at_r(label, ranked_labels, relevant + 1);
  const std::size_t first_hit = static_cast<std::size_t>(
      std::find(ranked_labels.begin(), ranked_labels.end(), label) - ranked_labels.begin());
  RetrievalMetrics one{1,
                       first_hit == 0 && !ranked_labels.empty() ? 1.0 : 0.0,
                       standard.r_precision,
                       standard.average_precision,
                       paper.r_precision,
                       paper.average_precision,
                       {}};
  for (const std::size_t k : recall_ks_) {
    one.recall_at.push_back(first_hit < std::min(k, ranked_labels.size()) ? 1.0 : 0.0);
  }
  return one;
}

void MetricsAccumulator::add(std::int64_t label, const RetrievalMetrics& query) {
  if (query.queries == 0) {
    ++left_out_;
    return;
  }
  add_to(sums_[label], query);
}

std::string MetricsAccumulator::to_bytes() const {
  MessageWriter message;
  message.put(std::uint64_t{left_out_});
  for (const auto& [label, sum] : sums_) {
    message.put(label);
    message.put(std::uint64_t{sum.queries});
    message.put(std::vector<double>{sum.p_at_1, sum.r_precision, sum.map_at_r,
                                    sum.r_precision_paper, sum.map_at_r_paper});
    message.put(sum.recall_at);
  }
  return message.take();
}

void MetricsAccumulator::add(std::string_view bytes) {
  MessageReader message(bytes);
  left_out_ += message.get<std::uint64_t>();
  while (!message.at_end()) {
    const auto label = message.get<std::int64_t>();
    RetrievalMetrics sum;
    sum.queries = message.get<std::uint64_t>();
    const auto numbers = message.get<std::vector<double>>();
    sum.recall_at = message.get<std::vector<double>>();
    if (numbers.size() != 5 || sum.recall_at.size() != recall_ks_.size()) {
      throw Error(ErrorKind::internal, "these metrics are not of the same kind");
    }
    sum.p_at_1 = numbers[0];
    sum.r_precision = numbers[1];
    sum.map_at_r = numbers[2];
    sum.r_precision_paper = numbers[3];
    sum.map_at_r_paper = numbers[4];
    add_to(sums_[label], sum);
  }
}

RetrievalMetrics MetricsAccumulator::overall() const {
  RetrievalMetrics sum;
  sum.recall_at.resize(recall_ks_.size());
  for (const auto& [label, metrics] : sums_) add_to(sum, metrics);
  return mean_of(sum);
}

std::map<std::int64_t, RetrievalMetrics> MetricsAccumulator::per_class() const {
  std::map<std::int64_t, RetrievalMetrics> means;
  for (const auto& [label, metrics] : sums_) means.emplace(label, mean_of(metrics));
  return means;
}

double normalised_mutual_information(std::span<const std::int64_t> x,
                                     std::span<const std::int64_t> y) {
  if (x.size() != y.size() || x.empty()) {
    throw Error("mutual information needs two labellings of the same, non-empty length");
  }
  std::map<std::int64_t, double> x_counts;
  std::map<std::int64_t, double> y_counts;
  std::map<std::pair<std::int64_t, std::int64_t>, double> joint;
  for (std::size_t i = 0; i < x.size(); ++i) {
    ++x_counts[x[i]];
    ++y_counts[y[i]];
    ++joint[{x[i], y[i]}];
  }
  const double n = static_cast<double>(x.size());
  const auto entropy = [n](const std::map<std::int64_t, double>& counts) {
    double h = 0.0;
    for (const auto& [label, count] : counts) h -= count / n * std::log(count / n);
    return h;
  };
  const double entropies = entropy(x_counts) + entropy(y_counts);
  if (entropies == 0.0) return 1.0;  // one cluster against one class: the same partition
  double information = 0.0;
  for (const auto& [labels, count] : joint) {
    information +=
        count / n * std::log(count * n / (x_counts[labels.first] * y_counts[labels.second]));
  }
  return std::clamp(2.0 * information / entropies, 0.0, 1.0);
}

}  // namespace diml
