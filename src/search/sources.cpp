#include "sources.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "diml/approximate_index.h"
#include "diml/error.h"
#include "diml/searcher.h"
#include "match/match_on_device.h"
#include "store_source.h"
#if DIML_HAS_CUDA
#include "cuda_source.h"
#endif

namespace diml {
namespace {

using Candidates = std::shared_ptr<const LiveCandidates>;

Candidates exact(const GridStore&, const GridSnapshot& snapshot, int threads) {
  return std::make_shared<LiveCandidates>(snapshot, threads);
}

// The approximate index that lies beside the store.
Candidates index(const GridStore& store, const GridSnapshot& snapshot, int threads) {
  const std::string path = index_file(store.name());
  if (!std::filesystem::exists(path)) {
    throw Error(ErrorKind::not_found, store.name() + ": has no index: build one", "build_index");
  }
  std::shared_ptr<const ApproximateIndex> loaded = load_index(path);
  const IndexOrigin origin = loaded->origin();
  if (origin.birth != snapshot.birth() || origin.revision > snapshot.revision()) {
    throw Error(ErrorKind::conflict,
                store.name() + ": its index was made of another gallery: build a new one",
                "build_index");
  }
  return std::make_shared<LiveCandidates>(BaseSource{std::move(loaded), origin.revision, {}},
                                          snapshot, threads);
}

#if DIML_HAS_CUDA
Candidates cuda_vectors(const GridStore& store, const GridSnapshot& snapshot, int threads) {
  auto all = std::make_shared<const StoredVectors>(snapshot.vectors());
  std::shared_ptr<const CandidateSource> source = make_cuda_source(
      {{all->globals.data(), all->ids.size(), snapshot.format().dim}, all->ids}, threads);
  if (!source || all->ids.empty()) return exact(store, snapshot, threads);
  return std::make_shared<LiveCandidates>(
      BaseSource{std::move(source), snapshot.revision(), std::move(all)}, snapshot, threads);
}
#endif

Candidates own_source(const MakeSource& make, const GridStore& store, const GridSnapshot& snapshot,
                      int threads) {
  BaseSource base = make(snapshot, threads);
  if (!base.source) return exact(store, snapshot, threads);
  if (base.revision > snapshot.revision()) {
    throw Error(ErrorKind::conflict, store.name() + ": the source of candidates is of revision " +
                                         std::to_string(base.revision) + ", the store of " +
                                         std::to_string(snapshot.revision()) +
                                         ": make it of this store");
  }
  return std::make_shared<LiveCandidates>(std::move(base), snapshot, threads);
}

// The index that the store keeps by itself.
Candidates of_store(const GridStore& store, const GridSnapshot& snapshot, int threads) {
  if (!store.own_index()) {
    throw Error(ErrorKind::not_found, store.name() + ": has no index of its own: make one",
                "make_own_index");
  }
  return std::make_shared<LiveCandidates>(
      BaseSource{make_store_source(snapshot.size()), snapshot.revision(), {}}, snapshot, threads);
}

bool always() { return true; }

// Whether this program makes the base again when it has changed much. An index on disk is built
// again by its owner.
enum class Base : std::uint8_t { remade, kept };

struct Source {
  const char* name;
  bool (*is_available)();
  Candidates (*make)(const GridStore&, const GridSnapshot&, int threads);
  Base base;
};

// `index` is the approximate one that `build_index` makes, of whatever kind.
constexpr std::array kSources = {
    Source{"exact", always, exact, Base::kept},
    Source{"index", has_approximate_index, index, Base::kept},
    Source{"pgvector", always, of_store, Base::kept},
#if DIML_HAS_CUDA
    Source{"cuda", cuda::is_available, cuda_vectors, Base::remade},
#endif
};

const Source& source_named(const std::string& wanted) {
  std::string known;
  for (const Source& source : kSources) {
    if (wanted == source.name) return source;
    known += (known.empty() ? "" : ", ") + std::string(source.name);
  }
  throw Error("there is no source of candidates '" + wanted + "' in this build: " + known);
}

}  // namespace

std::vector<std::string> candidate_sources() {
  std::vector<std::string> names;
  for (const Source& source : kSources) {
    if (source.is_available()) names.emplace_back(source.name);
  }
  return names;
}

std::shared_ptr<const LiveCandidates> make_candidates(const SearcherParams& params,
                                                      const GridStore& store,
                                                      const GridSnapshot& snapshot) {
  if (params.make_source) return own_source(params.make_source, store, snapshot, params.threads);
  return source_named(params.source).make(store, snapshot, params.threads);
}

bool is_outgrown(const SearcherParams& params, const LiveCandidates& candidates) {
  constexpr std::size_t kFewChanges = 4096;
  const Base base = params.make_source ? Base::remade : source_named(params.source).base;
  return base == Base::remade && candidates.base() != nullptr &&
         candidates.beside_base() > std::max(kFewChanges, candidates.base()->size() / 4);
}

}  // namespace diml
