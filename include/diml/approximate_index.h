#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diml/candidates.h"

namespace diml {

enum class IndexKind : std::uint8_t {
  hnsw,    // a graph over all vectors: fast and near exact; takes more memory than the vectors
  ivf_pq,  // vectors in a few bytes each: for galleries that memory does not hold
};
const char* name_of(IndexKind kind);
IndexKind index_kind_from(std::string_view name);

// Whether this build has FAISS.
bool has_approximate_index();

// Of what an index was made: it is of use only where all of it is still so.
struct IndexOrigin {
  std::uint64_t birth = 0;     // of the gallery
  std::uint64_t revision = 0;  // of the gallery
  bool operator==(const IndexOrigin&) const = default;
};

// Finds near neighbours without looking at all vectors. A cache: everything in it can be made again
// from the gallery. Searching is safe from several threads.
class ApproximateIndex : public CandidateSource {
 public:
  virtual IndexKind kind() const = 0;
  virtual IndexOrigin origin() const = 0;
  const char* name() const override { return name_of(kind()); }

  // About the `depth` nearest by inner product, in no promised order. query: [dim].
  virtual std::vector<std::int64_t> about_nearest(std::span<const float> query,
                                                  std::size_t depth) const = 0;

  // Takes more candidates than are asked for, and chooses among them by their exact cosines, for
  // which it reads the vectors from request.snapshot. Items that are not there are left out.
  Ranking nearest(const CandidateRequest& request) const override;

  // Whole or not at all; throws as OutputFile does.
  virtual void save(const std::string& path) const = 0;
};

// ids: [vectors.count]. Throws where there are too few vectors for the kind, or no FAISS.
std::unique_ptr<ApproximateIndex> build_index(IndexKind kind, VectorsView vectors,
                                              std::span<const std::int64_t> ids, IndexOrigin origin,
                                              int threads = 0);

// Throws where the file is damaged; its checksum is looked at first.
std::unique_ptr<ApproximateIndex> load_index(const std::string& path);

// Where the index of a gallery lies.
std::string index_file(const std::string& gallery_folder);

// An index orders by its own approximate scores: a search takes so many times as many from it, and
// the exact cosine chooses among them.
constexpr std::size_t kOverFetch = 4;

// The share of the `depth` exact neighbours that a search by the index finds: the mean over up to
// `queries` vectors, spread over all of them, each without itself.
double recall_of(const ApproximateIndex& index, VectorsView vectors,
                 std::span<const std::int64_t> ids, std::size_t depth, std::size_t queries = 1000,
                 int threads = 0);

}  // namespace diml
