#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "diml/evaluate.h"
#include "engine/process_group.h"

namespace diml {

// What a query found, from its ranked list and the labels of that list, which is not empty.
QueryResult query_result(std::int64_t image, std::int64_t label,
                         std::span<const std::int64_t> ranked,
                         std::span<const std::int64_t> ranked_labels,
                         const RetrievalMetrics& metrics);

// The queries of one process, for one depth.
struct Counted {
  MetricsAccumulator metrics{};
  std::vector<QueryResult> queries{};  // where they are kept
};

// What all processes counted, on the root process; called by all of them.
RerankResult gathered(ProcessGroup& processes, const Counted& own, std::size_t rerank,
                      std::size_t& left_out);

}  // namespace diml
