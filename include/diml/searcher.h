#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diml/candidates.h"
#include "diml/grid_store.h"
#include "diml/matcher.h"

namespace diml {

class AdmittedItems;
class Follower;
class LiveCandidates;
struct Condition;

// Which items a search or a list is about: conditions in text, all of which must hold.
//   label=pug      label!=pug       price<=20 (also <, >, >=)
//   colour in red,blue              colour in ["a,b","c"]
//   price exists   price missing
// The field is `label`, `path`, or a key of the item's metadata: dots go into nested objects, and
// `metadata.label` is a key that is called label. Numbers compare as numbers, texts letter by
// letter; a text that is no number is neither below nor above a number. A list satisfies what one
// of its values satisfies. null counts as missing, and an item without the field satisfies !=.
class Filter {
 public:
  Filter() = default;  // admits every item
  // Throws, with an example, where a condition is not understood.
  explicit Filter(std::span<const std::string> conditions);

  // The same, and the path contains `part`; A to Z in upper or lower case.
  Filter with_path_part(const std::string& part) const;
  // The same, and the label is this one, whatever signs it contains; "" for items without one.
  Filter with_label(const std::string& label) const;

  bool empty() const { return !conditions_; }
  bool admits(const Item& item) const;
  const std::string& text() const { return text_; }  // "label=pug and price<=20", for messages
  const std::string& key() const { return key_; }    // filters of one key admit the same items
  std::span<const Condition> conditions() const;

 private:
  void append(Condition condition, const std::string& text);

  std::shared_ptr<const std::vector<Condition>> conditions_;  // null: none
  std::string text_;
  std::string key_;
};

using IdList = std::shared_ptr<const std::vector<std::int64_t>>;

// How one search ranks.
struct SearchParams {
  std::size_t rerank = 100;  // candidates that are matched structurally; paper, section 4.3
  MatchParams match{};
  ScoreWeights weights{};
};

// When changes of the store are taken in: by the next search, or by a thread of the searcher's own
// as soon as the store tells of them (GridStore::listen()), so that the next search need not wait.
enum class TakeIn : std::uint8_t { with_the_next_search, at_once };

// What a searcher uses.
struct SearcherParams {
  std::string source = "exact";        // of candidates: one of candidate_sources()
  Backend backend = Backend::fastest;  // of the structural similarities
  int threads = 0;
  // A source of your own in the place of `source`. Newer items are added to what it finds and
  // removed ones are left out; where many have changed, it is called again. Safe from several
  // threads, as is the source that it makes. No source (null): the exact one.
  MakeSource make_source{};
  TakeIn take_in = TakeIn::with_the_next_search;
};

// Names for SearcherParams::source that this build and machine have: "exact", "cuda", "index",
// "pgvector".
std::vector<std::string> candidate_sources();

struct Hit {
  Item item;
  float global = 0.0F;              // cosine of the global vectors
  std::optional<float> structural;  // none for candidates that are not re-ranked
  float total = 0.0F;               // the ranking score: their weighted sum, or the cosine alone
  std::size_t first_rank = 0;       // its place before re-ranking, from 1
};

// Finds the items of a store that resemble a query: candidates by the cosine of globals, the first
// of them re-ordered by cosine + structural similarity. A search sees everything that was added
// and removed before it began, by this process or another; the cost of an update depends on the
// size of the change only. Safe from several threads.
class Searcher {
 public:
  // Throws where the source is not available, or where it was built from another store.
  explicit Searcher(std::shared_ptr<GridStore> store, SearcherParams params = {});
  ~Searcher();
  Searcher(const Searcher&) = delete;
  Searcher& operator=(const Searcher&) = delete;

  const GridStore& store() const { return *store_; }
  const Matcher& matcher() const { return *matcher_; }
  std::size_t size() const;
  const char* source() const;
  // Items added since the source was built, and removed items that it still holds. Where these are
  // many, an approximate index should be rebuilt.
  std::size_t beside_source() const;

  // The `top` best of each query among the items that the filter admits, fewer where these are
  // fewer. queries: of the store's shape. exclude: [queries], the id that each must exclude (its
  // own), -1 for none; or empty. The filter comes before the first stage: an exact source gives the
  // hits of a store that holds the admitted items alone, bit for bit. It can be
  // cancelled between two blocks of any of its stages, as can the functions below.
  std::vector<std::vector<Hit>> search(const GridSetView& queries, std::size_t top,
                                       std::span<const std::int64_t> exclude = {},
                                       const SearchParams& params = {}, const Filter& filter = {},
                                       const Progress& progress = {}) const;

  // The items that the filter admits now, ascending. The lists of the latest filters are kept:
  // asking again costs what has changed since.
  IdList admitted(const Filter& filter, const Progress& progress = {}) const;

  // Candidates from elsewhere, all of them re-ordered by cosine + structural similarity.
  // query: a set of one. Throws where an id does not exist. first_rank is the place in `ids`.
  std::vector<Hit> rerank(const GridSetView& query, std::span<const std::int64_t> ids,
                          const SearchParams& params = {}, const Progress& progress = {}) const;

  // Loads the changes of the store, so that the next search need not. Whether there were any.
  bool refresh() const;

 private:
  // A snapshot, and the candidates of its revision.
  struct Moment {
    std::unique_ptr<GridSnapshot> snapshot;
    std::shared_ptr<const LiveCandidates> candidates;
    IdList admitted;  // null: all
  };
  Moment now() const;
  Moment now(const Filter& filter, const Progress& progress) const;
  void expect_shape(const GridSetView& queries) const;

  std::shared_ptr<GridStore> store_;
  SearcherParams params_;
  std::unique_ptr<Matcher> matcher_;
  std::unique_ptr<AdmittedItems> admitted_;
  mutable std::mutex mutex_;  // guards the members below
  mutable std::shared_ptr<const LiveCandidates> candidates_;
  std::unique_ptr<Follower> follower_;  // ends before the rest does
};

// Grids outside a store, ranked for one query: by cosine + structural similarity, ties by lower
// index. query: a set of one. Of the items, hits have only the index (item.id, from 0).
std::vector<Hit> rank_grids(const Matcher& matcher, const GridSetView& query,
                            const GridSetView& grids, const SearchParams& params = {},
                            const Progress& progress = {});

}  // namespace diml
