#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "diml/candidates.h"
#include "diml/matcher.h"
#include "diml/progress.h"

namespace diml {

// Grids of a set, by their numbers in it: all of them, or some. Nothing is copied: the set and the
// numbers must outlive the selection.
struct GridSelection {
  GridSelection(GridSetView all) : grids(all) {}
  GridSelection(GridSetView set, std::span<const std::int64_t> some) : grids(set), ids(some) {}

  std::size_t size() const { return ids ? ids->size() : grids.size; }
  std::int64_t id_of(std::size_t place) const {
    return ids ? (*ids)[place] : static_cast<std::int64_t>(place);
  }

  GridSetView grids;
  std::optional<std::span<const std::int64_t>> ids;  // nullopt: all
};

// A first-stage ranking and the structural similarity of the head of each list.
struct ScoredRanking {
  Ranking ranking;
  std::size_t head = 0;           // how many of each list were matched structurally
  std::vector<float> structural;  // [queries, head]; 0 where a list is shorter

  // Of the first k of a list, at most `head`; fewer where the list is shorter.
  std::span<const float> structural_of(std::size_t query, std::size_t k) const;
};

// Stage 2: the structural similarities of the first `head` candidates of each query, with the query
// as source, all in one batch. place_of: where an id lies in `targets`; empty: ids are places.
// Cancelled as Matcher::score().
ScoredRanking match_head(const Matcher& matcher, const MatchParams& params,
                         const GridSelection& queries, const GridSetView& targets, Ranking ranking,
                         std::size_t head,
                         const std::function<std::int64_t(std::int64_t id)>& place_of = {},
                         const Progress& progress = {});

class CudaSource;

// Multi-scale matching in a set of grids in memory: the cosine of globals finds candidates, cosine
// + structural similarity orders the head. Ids are numbers in the gallery's set, also where the
// gallery is a part of it. The set's memory must outlive the retriever.
class Retriever {
 public:
  // A gallery that is a part of a set: ids ascending. Its globals are copied, its cells are not.
  Retriever(const GridSelection& gallery, MatchParams params = {},
            Backend backend = Backend::fastest, int threads = 0);
  ~Retriever();

  // Stage 1: `depth` candidates of each query. exclude: the gallery id that query q must exclude,
  // or empty. One depth for all: with `exclude` no list is longer than the gallery less one.
  // Both stages are cancelled as Matcher::score().
  Ranking candidates(const GridSelection& queries, std::size_t depth,
                     std::span<const std::int64_t> exclude = {},
                     const Progress& progress = {}) const;

  // Stage 2: structural similarities of the first `head` candidates, with the query as source.
  ScoredRanking match_head(const GridSelection& queries, Ranking ranking, std::size_t head,
                           const Progress& progress = {}) const;

  // Without stage 1: all of the gallery by cosine + structural similarity, the first `depth` of
  // each query. progress: in queries.
  Ranking structural_candidates(const GridSelection& queries, std::size_t depth,
                                std::span<const std::int64_t> exclude = {},
                                const Progress& progress = {}) const;

 private:
  GridSetView grids_;
  std::vector<std::int64_t> ids_;  // of the gallery's places; empty where they are the set's own
  std::vector<float> globals_;     // [ids_, dim]
  MatchParams params_;
  std::unique_ptr<Matcher> matcher_;
  std::shared_ptr<const void> kept_;
  std::unique_ptr<CudaSource> cuda_;        // where the matcher is on a GPU
  std::unique_ptr<CandidateSource> exact_;  // elsewhere
};

// The ids of query `query` after re-ranking its first k: see rank(). k at most scored.head; each k
// uses its own candidates only.
std::vector<std::int64_t> reranked(const ScoredRanking& scored, std::size_t query, std::size_t k,
                                   ScoreWeights weights = {});

// The result of the authors' script for k: `deepest` candidates are re-ranked once, the first k of
// that order are kept, and the stage-1 list from position k on follows. This has two faults. The
// head of the list is the same for every k. And the result is not a ranking: an image that moves to
// the head from behind position k is listed twice, and one that leaves the head is missing. For
// comparison with the paper's tables, not for use.
std::vector<std::int64_t> reranked_and_cut(const ScoredRanking& scored, std::size_t query,
                                           std::size_t k, std::size_t deepest,
                                           ScoreWeights weights = {});

}  // namespace diml
