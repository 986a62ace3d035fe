#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>

#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIVFPQ.h>
#include <faiss/impl/FaissException.h>
#include <faiss/impl/IDSelector.h>
#include <faiss/impl/io.h>
#include <faiss/index_io.h>

#include "base/output_file.h"
#include "base/sha256.h"
#include "base/threads.h"
#include "diml/approximate_index.h"
#include "diml/error.h"

namespace diml {
namespace {

// Of each image in the graph, and candidates that are looked at when it is put there.
constexpr int kGraphNeighbours = 32;
constexpr int kGraphConstruction = 100;
constexpr std::size_t kGraphSearch = 256;     // at least; never fewer than are asked for
constexpr std::size_t kFewestForPq = 10'000;  // 39 vectors for each of 256 words, FAISS's minimum
constexpr std::size_t kDimensionsPerByte = 4;
constexpr std::size_t kShareProbed = 8;  // of the lists, one in so many

constexpr std::array<char, 8> kMagic = {'d', 'i', 'm', 'l', 'i', 'd', 'x', '1'};

struct Head {
  std::array<char, 8> magic = kMagic;
  std::uint64_t kind = 0;
  std::uint64_t birth = 0;
  std::uint64_t revision = 0;
  std::uint64_t count = 0;
};

// The file: head, ids, FAISS's own bytes, then the SHA-256 of all that in 64 letters.
constexpr std::size_t kSeal = 64;

class SealedWriter final : public faiss::IOWriter {
 public:
  explicit SealedWriter(const std::string& path) : file_(path) {}
  std::size_t operator()(const void* data, std::size_t size, std::size_t count) override {
    sha_.update({static_cast<const std::uint8_t*>(data), size * count});
    file_.write(data, size * count);
    return count;
  }
  void commit() {
    file_.write(sha_.hex());
    file_.commit();
  }

 private:
  OutputFile file_;
  Sha256 sha_;
};

class FileReader final : public faiss::IOReader {
 public:
  explicit FileReader(const std::string& path) : file_(std::fopen(path.c_str(), "rbe")) {
    if (file_ == nullptr) throw Error(path + ": cannot be opened: " + std::strerror(errno));
  }
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;
  ~FileReader() override { std::fclose(file_); }
  std::size_t operator()(void* data, std::size_t size, std::size_t count) override {
    return std::fread(data, size, count, file_);
  }
  // Whether the file ends with the checksum of what comes before; back to its beginning.
  bool is_intact() {
    std::vector<std::uint8_t> part(std::size_t{1} << 20);
    std::fseek(file_, 0, SEEK_END);
    const long end = std::ftell(file_);
    if (end < static_cast<long>(sizeof(Head) + kSeal)) return false;
    std::rewind(file_);
    Sha256 sha;
    for (std::size_t left = static_cast<std::size_t>(end) - kSeal; left > 0;) {
      const std::size_t got = (*this)(part.data(), 1, std::min(left, part.size()));
      if (got == 0) return false;
      sha.update({part.data(), got});
      left -= got;
    }
    std::string seal(kSeal, ' ');
    const bool whole = (*this)(seal.data(), 1, kSeal) == kSeal && seal == sha.hex();
    std::rewind(file_);
    return whole;
  }

 private:
  std::FILE* file_;
};

// The places in an index whose ids are admitted.
class AdmittedPlaces final : public faiss::IDSelector {
 public:
  AdmittedPlaces(std::span<const std::int64_t> ids, std::span<const std::int64_t> admitted)
      : ids_(ids), admitted_(admitted) {}
  bool is_member(std::int64_t place) const override {
    return std::binary_search(admitted_.begin(), admitted_.end(),
                              ids_[static_cast<std::size_t>(place)]);
  }

 private:
  std::span<const std::int64_t> ids_;
  std::span<const std::int64_t> admitted_;
};

class FaissIndex final : public ApproximateIndex {
 public:
  FaissIndex(IndexKind kind, IndexOrigin origin, std::vector<std::int64_t> ids,
             std::unique_ptr<faiss::Index> index)
      : kind_(kind), origin_(origin), ids_(std::move(ids)), index_(std::move(index)) {}

  IndexKind kind() const override { return kind_; }
  IndexOrigin origin() const override { return origin_; }
  std::size_t size() const override { return ids_.size(); }

  std::vector<std::int64_t> about_nearest(std::span<const float> query, std::size_t depth,
                                          Admitted admitted) const override {
    if (query.size() != static_cast<std::size_t>(index_->d)) {
      throw Error("the query has " + std::to_string(query.size()) + " dimensions, the index " +
                  std::to_string(index_->d) + ": embed it with the gallery's model");
    }
    depth = std::min(depth, admitted ? std::min(admitted->size(), ids_.size()) : ids_.size());
    if (depth == 0) return {};
    AdmittedPlaces places_of(ids_, admitted.value_or(std::span<const std::int64_t>()));
    // Among many that are not admitted, as many more are looked at.
    const double more = admitted ? static_cast<double>(ids_.size()) /
                                       static_cast<double>(std::min(admitted->size(), ids_.size()))
                                 : 1.0;
    const auto widened = [&](std::size_t count, std::size_t most) {
      return std::min(static_cast<std::size_t>(static_cast<double>(count) * more), most);
    };
    faiss::SearchParametersHNSW graph;
    graph.efSearch = static_cast<int>(
        std::max<std::size_t>(kGraphSearch, widened(std::max(depth, kGraphSearch), ids_.size())));
    faiss::SearchParametersIVF lists;
    const auto* of_lists = dynamic_cast<const faiss::IndexIVF*>(index_.get());
    if (of_lists != nullptr) lists.nprobe = widened(of_lists->nprobe, of_lists->nlist);
    faiss::SearchParameters& params =
        kind_ == IndexKind::hnsw ? static_cast<faiss::SearchParameters&>(graph) : lists;
    if (admitted) params.sel = &places_of;
    std::vector<float> scores(depth);
    std::vector<std::int64_t> places(depth);
    index_->search(1, query.data(), static_cast<std::int64_t>(depth), scores.data(), places.data(),
                   &params);
    std::vector<std::int64_t> found;
    for (const std::int64_t place : places) {
      if (place >= 0 && (!admitted || places_of.is_member(place))) {
        found.push_back(ids_[static_cast<std::size_t>(place)]);
      }
    }
    return found;
  }

  void save(const std::string& path) const override {
    SealedWriter writer(path);
    const Head head{kMagic, static_cast<std::uint64_t>(kind_), origin_.birth, origin_.revision,
                    ids_.size()};
    writer(&head, sizeof(head), 1);
    writer(ids_.data(), sizeof(std::int64_t), ids_.size());
    faiss::write_index(index_.get(), &writer);
    writer.commit();
  }

 private:
  IndexKind kind_;
  IndexOrigin origin_;
  std::vector<std::int64_t> ids_;
  std::unique_ptr<faiss::Index> index_;
};

// Vectors between two updates of the progress.
constexpr std::size_t kAddedAtOnce = 1'000;

void add_all(faiss::Index& index, VectorsView vectors, const Progress& progress) {
  progress(0, vectors.count);
  for (std::size_t first = 0; first < vectors.count; first += kAddedAtOnce) {
    progress.stop_if_cancelled();
    const std::size_t some = std::min(kAddedAtOnce, vectors.count - first);
    index.add(static_cast<std::int64_t>(some), vectors.data + first * vectors.dim);
    progress(first + some, vectors.count);
  }
}

std::unique_ptr<faiss::Index> build_graph(VectorsView vectors, const Progress& progress) {
  auto graph = std::make_unique<faiss::IndexHNSWFlat>(
      static_cast<int>(vectors.dim), kGraphNeighbours, faiss::METRIC_INNER_PRODUCT);
  graph->hnsw.efConstruction = kGraphConstruction;
  add_all(*graph, vectors, progress);
  return graph;
}

std::unique_ptr<faiss::Index> build_lists(VectorsView vectors, const Progress& progress) {
  if (vectors.count < kFewestForPq) {
    throw Error("an ivf-pq index needs " + std::to_string(kFewestForPq) +
                " images to learn from: search so few exactly, or take hnsw");
  }
  const auto dim = static_cast<std::size_t>(vectors.dim);
  std::size_t bytes = std::max<std::size_t>(1, dim / kDimensionsPerByte);
  while (dim % bytes != 0) --bytes;
  const auto lists = static_cast<std::size_t>(std::sqrt(static_cast<double>(vectors.count)));
  auto* quantiser = new faiss::IndexFlatIP(static_cast<std::int64_t>(dim));
  auto index = std::make_unique<faiss::IndexIVFPQ>(quantiser, dim, lists, bytes, 8,
                                                   faiss::METRIC_INNER_PRODUCT);
  index->own_fields = true;
  index->cp.min_points_per_centroid = 1;  // or it prints
  index->pq.cp.min_points_per_centroid = 1;
  index->nprobe = std::max<std::size_t>(8, lists / kShareProbed);
  progress(0, vectors.count);  // training takes most of the time and cannot be watched
  index->train(static_cast<std::int64_t>(vectors.count), vectors.data);
  add_all(*index, vectors, progress);
  return index;
}

}  // namespace

bool has_approximate_index() { return true; }

std::unique_ptr<ApproximateIndex> build_index(IndexKind kind, VectorsView vectors,
                                              std::span<const std::int64_t> ids, IndexOrigin origin,
                                              int threads, const Progress& progress) {
  if (vectors.count == 0) throw Error("an index needs at least one image");
  const ThreadScope scope(threads);
  try {
    return std::make_unique<FaissIndex>(
        kind, origin, std::vector<std::int64_t>(ids.begin(), ids.end()),
        kind == IndexKind::hnsw ? build_graph(vectors, progress) : build_lists(vectors, progress));
  } catch (const faiss::FaissException& failure) {
    throw Error(std::string("FAISS cannot make the index: ") + failure.what());
  }
}

std::unique_ptr<ApproximateIndex> load_index(const std::string& path) {
  FileReader reader(path);
  const std::string damaged = path + ": is damaged: build a new one";
  if (!reader.is_intact()) throw Error(ErrorKind::damaged, damaged, "build_index");
  Head head;
  reader(&head, sizeof(head), 1);
  if (head.magic != kMagic || head.kind > static_cast<std::uint64_t>(IndexKind::ivf_pq)) {
    throw Error(ErrorKind::bad_input, path + ": is not an index of this version: build a new one",
                "build_index");
  }
  std::vector<std::int64_t> ids(head.count);
  reader(ids.data(), sizeof(std::int64_t), ids.size());
  try {
    std::unique_ptr<faiss::Index> index(faiss::read_index(&reader));
    if (index->ntotal != static_cast<std::int64_t>(ids.size())) {
      throw Error(ErrorKind::damaged, damaged, "build_index");
    }
    return std::make_unique<FaissIndex>(static_cast<IndexKind>(head.kind),
                                        IndexOrigin{head.birth, head.revision}, std::move(ids),
                                        std::move(index));
  } catch (const faiss::FaissException&) {
    throw Error(ErrorKind::damaged, damaged, "build_index");
  }
}

}  // namespace diml
