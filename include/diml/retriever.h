#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "diml/first_stage.h"
#include "diml/matcher.h"

namespace diml {

// A first-stage ranking and the structural similarity of the head of each list.
struct ScoredRanking {
  Ranking ranking;
  std::size_t head = 0;           // how many of each list were matched structurally
  std::vector<float> structural;  // [queries, head]
};

// Multi-scale matching: cosine of globals finds candidates, cosine + structural similarity orders
// the head. The gallery's memory must outlive the retriever.
class Retriever {
 public:
  Retriever(GridSetView gallery, MatchParams params = {}, std::string_view matcher = "auto",
            int threads = 0);

  // Stage 1: `depth` candidates of each query. exclude: the gallery id that query q must not find,
  // or empty.
  Ranking candidates(GridSetView queries, std::size_t depth,
                     std::span<const std::int64_t> exclude = {}) const;

  // Stage 2: structural similarities of the first `head` candidates, with the query as source.
  ScoredRanking match_head(GridSetView queries, Ranking ranking, std::size_t head) const;

 private:
  GridSetView gallery_;
  MatchParams params_;
  std::unique_ptr<FirstStage> first_stage_;
  std::unique_ptr<Matcher> matcher_;
};

// The ids of query `query` after re-ranking: the first k by cosine + structural similarity, ties by
// lower id, the rest in stage-1 order. k at most scored.head; each k uses its own candidates only.
std::vector<std::int64_t> reranked(const ScoredRanking& scored, std::size_t query, std::size_t k);

}  // namespace diml
