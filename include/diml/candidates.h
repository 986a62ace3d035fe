#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace diml {

class GridSnapshot;

struct VectorsView {
  const float* data = nullptr;  // [count, dim], row-major
  std::size_t count = 0;
  std::size_t dim = 0;
};

// Vectors and what they are called.
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
  // [queries]: the id that each query must not find (itself), -1 for none; or empty.
  std::span<const std::int64_t> exclude{};
  // Where a source that holds no vectors reads those of its candidates.
  const GridSnapshot* snapshot = nullptr;
};

// Stage 1: the nearest by inner product of globals, with exact scores. Which candidates are found
// may be approximate; their scores are the bits of cosines(), whatever the source.
class CandidateSource {
 public:
  virtual ~CandidateSource() = default;
  virtual const char* name() const = 0;
  virtual std::size_t size() const = 0;
  // Lists of `depth`, or as long as the longest one where all are shorter.
  virtual Ranking nearest(const CandidateRequest& request) const = 0;
};

// Compares with every vector, a block at a time: no queries x gallery matrix is ever held. The
// scores of a query do not depend on the other queries. The vectors and ids must outlive the
// source.
std::unique_ptr<CandidateSource> make_exact_source(std::vector<VectorSegment> segments,
                                                   int threads = 0);
std::unique_ptr<CandidateSource> make_exact_source(VectorsView vectors, int threads = 0);

// The inner products of one query with some vectors: the one definition of a cosine. query: [dim];
// vectors: each [dim].
std::vector<float> cosines(std::span<const float> query, std::span<const float* const> vectors);

}  // namespace diml
