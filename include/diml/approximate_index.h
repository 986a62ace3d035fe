#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diml/candidates.h"
#include "diml/progress.h"

namespace diml {

enum class IndexKind : std::uint8_t {
  hnsw,    // a graph over all vectors: fast and near exact; takes more memory than the vectors
  ivf_pq,  // vectors compressed to a few bytes each: for galleries larger than memory
};
const char* name_of(IndexKind kind);
IndexKind index_kind_from(std::string_view name);

// Whether this build has FAISS.
bool has_approximate_index();

// The state of a gallery that an index was built from: the index is valid for this state only.
struct IndexOrigin {
  std::uint64_t birth = 0;     // of the gallery
  std::uint64_t revision = 0;  // of the gallery
  bool operator==(const IndexOrigin&) const = default;
};

// Finds near neighbours without comparing all vectors. A cache: it can be rebuilt from the gallery.
// Several threads may search at the same time.
class ApproximateIndex : public CandidateSource {
 public:
  virtual IndexKind kind() const = 0;
  virtual IndexOrigin origin() const = 0;
  const char* name() const override { return name_of(kind()); }

  // Approximately the `depth` nearest by inner product, in any order. query: [dim]. admitted: see
  // CandidateRequest; fewer may be found than there are.
  using Admitted = std::optional<std::span<const std::int64_t>>;
  virtual std::vector<std::int64_t> about_nearest(std::span<const float> query, std::size_t depth,
                                                  Admitted admitted = {}) const = 0;

  // Retrieves more candidates than requested and selects among them by their exact cosines; their
  // vectors come from request.snapshot. Items that are not in the snapshot are left out. Where few
  // items are admitted, or the index finds too few of them, all of them are compared exactly.
  Ranking nearest(const CandidateRequest& request) const override;

  // Writes the whole file or none; throws as OutputFile does.
  virtual void save(const std::string& path) const = 0;
};

// progress: in vectors; it can be cancelled between two blocks of them. ids: [vectors.count].
// Throws where there are too few vectors for the kind, or no FAISS.
std::unique_ptr<ApproximateIndex> build_index(IndexKind kind, VectorsView vectors,
                                              std::span<const std::int64_t> ids, IndexOrigin origin,
                                              int threads = 0, const Progress& progress = {});

// Throws where the file is damaged; its checksum is verified first.
std::unique_ptr<ApproximateIndex> load_index(const std::string& path);

// The path of a gallery's index.
std::string index_file(const std::string& gallery_folder);

// An index orders by its own approximate scores: a search retrieves this many times the requested
// number of candidates, and the exact cosine selects among them.
constexpr std::size_t kOverFetch = 4;

// Recall: the share of the `depth` exact neighbours that a search with the index finds. Mean over
// up to `queries` evenly spaced vectors of the gallery; each query excludes itself.
double recall_of(const ApproximateIndex& index, VectorsView vectors,
                 std::span<const std::int64_t> ids, std::size_t depth, std::size_t queries = 1000,
                 int threads = 0);
// The same of anything that finds ids.
using AboutNearest =
    std::function<std::vector<std::int64_t>(std::span<const float> query, std::size_t depth)>;
double recall_of(const AboutNearest& about_nearest, VectorsView vectors,
                 std::span<const std::int64_t> ids, std::size_t depth, std::size_t queries = 1000,
                 int threads = 0);

}  // namespace diml
