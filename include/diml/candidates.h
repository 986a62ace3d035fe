#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "diml/match.h"
#include "diml/progress.h"

namespace diml {

class Filter;
class GridSnapshot;

struct VectorsView {
  const float* data = nullptr;  // [count, dim], row-major
  std::size_t count = 0;
  std::size_t dim = 0;
};

// Vectors and their ids.
struct VectorSegment {
  VectorsView vectors;
  std::span<const std::int64_t> ids{};  // [vectors.count], ascending; empty: 0, 1, 2 and so on
};

// Ranked lists of one length. Higher score first, then lower id. A list that is shorter than
// `depth` ends with ids of -1.
struct Ranking {
  std::size_t queries = 0;
  std::size_t depth = 0;
  std::vector<std::int64_t> ids;  // [queries, depth]
  std::vector<float> scores;      // [queries, depth]

  Ranking() = default;
  Ranking(std::size_t queries, std::size_t depth);

  std::span<const std::int64_t> ids_of(std::size_t query) const {
    return {ids.data() + query * depth, depth};
  }
  std::span<const float> scores_of(std::size_t query) const {
    return {scores.data() + query * depth, depth};
  }
};

struct CandidateRequest {
  VectorsView queries;  // finite vectors
  std::size_t depth = 100;
  // [queries]: the id that each query excludes (its own), -1 for none; or empty.
  std::span<const std::int64_t> exclude{};
  // A source that holds no vectors reads those of its candidates here.
  const GridSnapshot* snapshot = nullptr;
  // The only ids that may be candidates, ascending; nullopt: all. As many are found as there are,
  // up to `depth`, also by a source that may miss some of the nearest.
  std::optional<std::span<const std::int64_t>> admitted{};
  // In the place of `admitted`, for a source that asks the store itself (asks_the_store()).
  const Filter* filter = nullptr;
  // nearest() can be cancelled between two blocks.
  Progress progress{};
};

// Stage 1: the nearest by inner product of globals, with exact scores. A source may miss some of
// the nearest; the scores of those that it finds are bit for bit those of cosines().
class CandidateSource {
 public:
  virtual ~CandidateSource() = default;
  virtual const char* name() const = 0;
  virtual std::size_t size() const = 0;
  // Whether it applies request.filter, and reads every snapshot that it is given: what changes in
  // the store need not be kept beside it.
  virtual bool asks_the_store() const { return false; }
  // Lists of length `depth`, or of the longest list's length where all are shorter.
  virtual Ranking nearest(const CandidateRequest& request) const = 0;
};

// A first stage, and the revision of the store that it was made of.
struct BaseSource {
  std::shared_ptr<const CandidateSource> source;
  std::uint64_t revision = 0;
  std::shared_ptr<const void> memory{};  // what the source points into, where it owns nothing
};

// Makes a first stage of the items of a snapshot, or of those of an older revision.
using MakeSource = std::function<BaseSource(const GridSnapshot& snapshot, int threads)>;

// Compares with every vector, block by block: a queries x gallery matrix is never in memory. The
// scores of a query do not depend on the other queries. The vectors and ids must outlive the
// source.
std::unique_ptr<CandidateSource> make_exact_source(std::vector<VectorSegment> segments,
                                                   int threads = 0);
std::unique_ptr<CandidateSource> make_exact_source(VectorsView vectors, int threads = 0);

// Stage 2, the order: the positions of the first structural.size() candidates of a list by
// descending total, ties by lower id. The rest of the list keeps its order. ids, cosines: the list
// in the order of stage 1, at least as long.
std::vector<std::size_t> rank(std::span<const std::int64_t> ids, std::span<const float> cosines,
                              std::span<const float> structural, ScoreWeights weights = {});

// The inner products of one query with some vectors: the one definition of a cosine. query: [dim];
// vectors: each [dim].
std::vector<float> cosines(std::span<const float> query, std::span<const float* const> vectors);

}  // namespace diml
