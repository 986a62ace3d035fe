#include "engine/query_results.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/message.h"

namespace diml {
namespace {

std::string to_bytes(const std::vector<QueryResult>& queries) {
  MessageWriter message;
  for (const QueryResult& query : queries) {
    message.put(query.image);
    message.put(query.nearest);
    message.put(query.nearest_total);
    message.put(std::uint64_t{query.first_right});
    message.put(query.p_at_1);
    message.put(query.r_precision);
    message.put(query.average_precision);
  }
  return message.take();
}

void add_queries(std::string_view bytes, std::vector<QueryResult>& queries) {
  MessageReader message(bytes);
  while (!message.at_end()) {
    QueryResult query;
    query.image = message.get<std::int64_t>();
    query.nearest = message.get<std::int64_t>();
    query.nearest_total = message.get<float>();
    query.first_right = message.get<std::uint64_t>();
    query.p_at_1 = message.get<double>();
    query.r_precision = message.get<double>();
    query.average_precision = message.get<double>();
    queries.push_back(query);
  }
}

}  // namespace

QueryResult query_result(std::int64_t image, std::int64_t label,
                         std::span<const std::int64_t> ranked,
                         std::span<const std::int64_t> ranked_labels,
                         const RetrievalMetrics& metrics) {
  const auto right = std::find(ranked_labels.begin(), ranked_labels.end(), label);
  const auto rank = static_cast<std::size_t>(right - ranked_labels.begin()) + 1;
  return {.image = image,
          .nearest = ranked.front(),
          .first_right = right == ranked_labels.end() ? 0 : rank,
          .p_at_1 = metrics.p_at_1,
          .r_precision = metrics.r_precision,
          .average_precision = metrics.map_at_r};
}

RerankResult gathered(ProcessGroup& processes, const Counted& own, std::size_t rerank,
                      std::size_t& left_out) {
  RerankResult result{.rerank = rerank, .metrics = {}, .per_class = {}};
  MetricsAccumulator whole(own.metrics.recall_ks());
  for (const std::string& bytes : processes.gather(own.metrics.to_bytes())) whole.add(bytes);
  for (const std::string& bytes : processes.gather(to_bytes(own.queries))) {
    add_queries(bytes, result.queries);
  }
  if (!processes.is_root()) return result;
  result.metrics = whole.overall();
  result.per_class = whole.per_class();
  left_out = whole.left_out();
  std::sort(result.queries.begin(), result.queries.end(),
            [](const QueryResult& x, const QueryResult& y) { return x.image < y.image; });
  return result;
}

}  // namespace diml
