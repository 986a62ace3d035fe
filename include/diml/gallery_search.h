#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diml/approximate_index.h"
#include "diml/gallery.h"
#include "diml/matcher.h"
#include "diml/score_weights.h"

namespace diml {

struct GallerySearchParams {
  std::size_t rerank = 100;  // candidates that are matched structurally; paper, section 4.3
  MatchParams match{};
  std::string matcher = "auto";
  int threads = 0;
  ScoreWeights weights{};
};

struct GalleryHit {
  GalleryItem item;
  float global = 0.0F;              // cosine of the global vectors
  std::optional<float> structural;  // none behind the candidates that are re-ranked
  float total = 0.0F;               // what the order is by: their weighted sum, or the cosine alone
  std::size_t first_rank = 0;       // its place before re-ranking, from 1
};

// What one search may do otherwise than the GallerySearch it goes through.
struct SearchChoice {
  std::size_t rerank = 100;
  MatchParams match{};
  ScoreWeights weights{};
};

// Finds the images of a gallery that resemble a query: candidates by the cosine of globals, the
// first of them re-ordered by cosine + structural similarity. Searching is safe from several
// threads, while others add and remove. What is removed is never found; what is added is found
// after refresh().
class GallerySearch {
 public:
  // Compares with every image, from globals held in memory.
  explicit GallerySearch(Gallery gallery, GallerySearchParams params = {});
  // Takes candidates from an index: globals stay on disk, those of candidates are read. Scores are
  // exact all the same. Throws where the index is of another state of the gallery.
  GallerySearch(Gallery gallery, std::shared_ptr<const ApproximateIndex> index,
                GallerySearchParams params = {});
  ~GallerySearch();
  GallerySearch(const GallerySearch&) = delete;
  GallerySearch& operator=(const GallerySearch&) = delete;

  const Gallery& gallery() const { return gallery_; }
  std::size_t size() const;
  std::uint64_t revision() const;  // of what is searched

  // The `top` best of each query, fewer where the gallery has fewer. queries: of the gallery's
  // shape. exclude: [queries], the id that each must not find (itself), -1 for none; or empty.
  std::vector<std::vector<GalleryHit>> search(GridSetView queries, std::size_t top,
                                              std::span<const std::int64_t> exclude = {}) const;
  std::vector<std::vector<GalleryHit>> search(GridSetView queries, std::size_t top,
                                              std::span<const std::int64_t> exclude,
                                              const SearchChoice& choice) const;

  // Candidates that somebody else found, all of them re-ordered by cosine + structural similarity.
  // query: a set of one. Throws where an id is not there. first_rank is the place in `ids`.
  std::vector<GalleryHit> rerank(GridSetView query, std::span<const std::int64_t> ids,
                                 const MatchParams& match, ScoreWeights weights = {}) const;

  // Takes in what has changed since; whether something had. Searches that run meanwhile go on with
  // what they began with. An index is left for the exact first stage.
  bool refresh();

 private:
  struct Loaded;
  struct Candidate;

  std::shared_ptr<const Loaded> load() const;
  std::shared_ptr<const Loaded> loaded() const;
  std::vector<std::vector<Candidate>> candidates(const Loaded& loaded,
                                                 const GallerySnapshot& snapshot,
                                                 GridSetView queries, std::size_t depth,
                                                 std::span<const std::int64_t> exclude) const;
  std::vector<GalleryHit> ranked(const GallerySnapshot& snapshot, GridSetView queries,
                                 std::size_t query, std::vector<Candidate> candidates,
                                 std::size_t top, const SearchChoice& choice) const;
  void expect_shape(GridSetView queries) const;

  Gallery gallery_;
  GallerySearchParams params_;
  std::unique_ptr<Matcher> matcher_;
  mutable std::mutex mutex_;  // of loaded_ alone
  std::shared_ptr<const Loaded> loaded_;
};

}  // namespace diml
