#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diml/grid_store.h"
#include "diml/matcher.h"
#include "diml/rank.h"

namespace diml {

class LiveCandidates;

// How one search ranks.
struct SearchParams {
  std::size_t rerank = 100;  // candidates that are matched structurally; paper, section 4.3
  MatchParams match{};
  ScoreWeights weights{};
};

// With what a searcher works.
struct SearcherParams {
  std::string source = "exact";  // of candidates: one of candidate_sources()
  std::string matcher = "auto";
  int threads = 0;
};

// Names for SearcherParams::source that this build and machine have: "exact", "cuda", "index".
std::vector<std::string> candidate_sources();

struct Hit {
  Item item;
  float global = 0.0F;              // cosine of the global vectors
  std::optional<float> structural;  // none behind the candidates that are re-ranked
  float total = 0.0F;               // what the order is by: their weighted sum, or the cosine alone
  std::size_t first_rank = 0;       // its place before re-ranking, from 1
};

// Finds the items of a store that resemble a query: candidates by the cosine of globals, the first
// of them re-ordered by cosine + structural similarity. A search sees everything that was added
// and removed before it began, by this process or another; taking in a change costs what the change
// costs. Safe from several threads.
class Searcher {
 public:
  // Throws where the source is not to be had, or where it was made of another store.
  explicit Searcher(std::shared_ptr<GridStore> store, SearcherParams params = {});
  ~Searcher();
  Searcher(const Searcher&) = delete;
  Searcher& operator=(const Searcher&) = delete;

  const GridStore& store() const { return *store_; }
  const Matcher& matcher() const { return *matcher_; }
  std::size_t size() const;
  const char* source() const;
  // Items that the source was not made of, and removed ones that it still has. Where these are many
  // an approximate index should be made anew.
  std::size_t beside_source() const;

  // The `top` best of each query, fewer where the store has fewer. queries: of the store's shape.
  // exclude: [queries], the id that each must not find (itself), -1 for none; or empty.
  std::vector<std::vector<Hit>> search(const GridSetView& queries, std::size_t top,
                                       std::span<const std::int64_t> exclude = {},
                                       const SearchParams& params = {}) const;

  // Candidates that somebody else found, all of them re-ordered by cosine + structural similarity.
  // query: a set of one. Throws where an id is not there. first_rank is the place in `ids`.
  std::vector<Hit> rerank(const GridSetView& query, std::span<const std::int64_t> ids,
                          const SearchParams& params = {}) const;

  // Takes in what has changed, so that the next search need not; whether something had.
  bool refresh() const;

 private:
  // A snapshot, and the candidates of its revision.
  struct Moment {
    std::unique_ptr<GridSnapshot> snapshot;
    std::shared_ptr<const LiveCandidates> candidates;
  };
  Moment now() const;
  void expect_shape(const GridSetView& queries) const;

  std::shared_ptr<GridStore> store_;
  SearcherParams params_;
  std::unique_ptr<Matcher> matcher_;
  mutable std::mutex mutex_;  // of what follows
  mutable std::shared_ptr<const LiveCandidates> candidates_;
};

// Grids that lie elsewhere, ranked for one query: by cosine + structural similarity, ties by lower
// place. query: a set of one. Hits know their place (item.id, from 0) and nothing else.
std::vector<Hit> rank_grids(const Matcher& matcher, const GridSetView& query,
                            const GridSetView& grids, const SearchParams& params = {});

}  // namespace diml
