#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diml/evaluate.h"

namespace diml {

// What re-ranking does to a query: whether the image that it finds first is of its class.
enum class Change : std::uint8_t {
  same,
  fixed,   // wrong before, right after
  broken,  // right before, wrong after
};
const char* name_of(Change change);
Change change_of(const QueryResult& before, const QueryResult& after);

struct MetricIntervals {
  Interval p_at_1;
  Interval r_precision;
  Interval map_at_r;
};

// A depth of re-ranking against the plain cosine, on the same queries.
struct RerankGain {
  std::size_t result = 0;  // its place in Evaluation::results
  std::size_t rerank = 0;
  std::size_t fixed = 0;
  std::size_t broken = 0;
  std::size_t same = 0;
  double p_at_1 = 0.0;  // differences of the means
  double r_precision = 0.0;
  double map_at_r = 0.0;
  std::optional<MetricIntervals> intervals{};  // paired: both are of the same resampled queries

  // "re-ranking with 100 fixes 12 queries and breaks 3"
  std::string summary() const;
};

struct DepthComparison {
  std::vector<MetricIntervals> intervals;  // of each of the results; empty without resamples
  std::optional<std::size_t> plain;        // the place of the plain cosine in the results
  std::vector<RerankGain> gains;           // of every other depth; empty without the plain cosine
};

// evaluation: with the results of its queries. resamples = 0: without intervals. The intervals say
// how far the numbers would move with other queries of the same kind; they take the queries for
// independent and the gallery as it is.
DepthComparison compare_depths(const Evaluation& evaluation, const BootstrapParams& bootstrap,
                               const Progress& progress = {});

}  // namespace diml
