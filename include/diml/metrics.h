#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diml/progress.h"

namespace diml {

// Fractions from 0 to 1, means over queries. R is the number of gallery images of the query's
// class, the query not counted. The paper's tables count it: their RP and MAP@R are those named
// `_paper` here.
struct RetrievalMetrics {
  std::size_t queries = 0;
  double p_at_1 = 0.0;
  double r_precision = 0.0;
  double map_at_r = 0.0;
  double r_precision_paper = 0.0;
  double map_at_r_paper = 0.0;
  std::vector<double> recall_at;  // one for each of the accumulator's ks
};

class MetricsAccumulator {
 public:
  explicit MetricsAccumulator(std::vector<std::size_t> recall_ks = {1, 2, 4, 8, 10, 100});

  // The metrics of one query. ranked_labels: the labels of the ranked gallery, the query itself not
  // among them, at least relevant + 1 deep or the whole gallery. relevant: R; with R = 0 the result
  // counts no query.
  RetrievalMetrics of_query(std::int64_t label, std::span<const std::int64_t> ranked_labels,
                            std::size_t relevant) const;

  // A query with R = 0 is left out of the means, and counted as left out.
  void add(std::int64_t label, const RetrievalMetrics& query);
  void add(std::int64_t label, std::span<const std::int64_t> ranked_labels, std::size_t relevant) {
    add(label, of_query(label, ranked_labels, relevant));
  }

  // The sums so far, for an accumulator of another process with the same recall_ks.
  std::string to_bytes() const;
  void add(std::string_view bytes);

  RetrievalMetrics overall() const;
  std::map<std::int64_t, RetrievalMetrics> per_class() const;
  std::size_t left_out() const { return left_out_; }
  const std::vector<std::size_t>& recall_ks() const { return recall_ks_; }

 private:
  std::vector<std::size_t> recall_ks_;
  // By class; not yet divided by the number of queries.
  std::map<std::int64_t, RetrievalMetrics> sums_;
  std::size_t left_out_ = 0;
};

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

struct BootstrapParams {
  std::size_t resamples = 1000;
  double level = 0.95;  // the share of the resampled means within an interval
  std::uint64_t seed = 0;
  int threads = 0;
};

// Confidence intervals of the means of the columns, by the percentile bootstrap over the rows.
// values: [rows, columns]; a row is drawn as a whole, so that columns stay paired and the column of
// a difference gives a paired interval. Depends on the seed alone, not on the threads.
std::vector<Interval> bootstrap_means(std::span<const double> values, std::size_t columns,
                                      const BootstrapParams& params = {},
                                      const Progress& progress = {});

// Mutual information of two labellings over the mean of their entropies: 1 for the same partition,
// 0 for unrelated ones.
double normalised_mutual_information(std::span<const std::int64_t> x,
                                     std::span<const std::int64_t> y);

}  // namespace diml
