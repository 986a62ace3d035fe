#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace diml {

struct VectorsView {
  const float* data = nullptr;  // [count, dim], row-major
  std::size_t count = 0;
  std::size_t dim = 0;
};

// Ranked lists of one length. Higher score first, then lower id.
struct Ranking {
  std::size_t queries = 0;
  std::size_t depth = 0;
  std::vector<std::int64_t> ids;  // [queries, depth]
  std::vector<float> scores;      // [queries, depth]

  std::span<const std::int64_t> ids_of(std::size_t query) const {
    return {ids.data() + query * depth, depth};
  }
  std::span<const float> scores_of(std::size_t query) const {
    return {scores.data() + query * depth, depth};
  }
};

// Stage 1: the nearest of a gallery by inner product of globals.
class FirstStage {
 public:
  virtual ~FirstStage() = default;
  virtual const char* name() const = 0;

  // The `depth` nearest of each query (finite vectors all), fewer where the gallery has fewer.
  // exclude: the id that query q must not find (itself), [queries], or empty.
  virtual Ranking search(VectorsView queries, std::size_t depth,
                         std::span<const std::int64_t> exclude = {}) const = 0;
};

// Compares with every vector, a block at a time: no queries x gallery matrix is ever held. The
// scores of a query do not depend on the other queries. The gallery must outlive the first stage.
std::unique_ptr<FirstStage> make_exact_first_stage(VectorsView gallery, int threads = 0);

}  // namespace diml
