// What holds for every kind of index, with FAISS or without.

#include "diml/approximate_index.h"

#include <algorithm>

#include "base/enum_names.h"
#include "diml/error.h"
#include "diml/grid_store.h"
#include "merge.h"
#include "scan.h"

namespace diml {
namespace {

constexpr EnumNames<2> kKindNames = {"hnsw", "ivf-pq"};

// An index passes over items that are not admitted, so that it looks at wanted * size / admitted of
// them, and each costs it several comparisons. Where that is more than comparing all admitted ones,
// these are compared instead.
bool scan_is_cheaper(std::size_t admitted, std::size_t size, std::size_t wanted) {
  constexpr double kComparisonsPerItem = 8.0;
  const auto of = [](std::size_t count) { return static_cast<double>(count); };
  return of(admitted) * of(admitted) <= kComparisonsPerItem * of(wanted) * of(size);
}

}  // namespace

const char* name_of(IndexKind kind) { return name_in(kKindNames, kind); }

IndexKind index_kind_from(std::string_view name) {
  return value_in<IndexKind>(kKindNames, name, "kind of index");
}

std::string index_file(const std::string& gallery_folder) {
  return gallery_folder + "/first_stage.faiss";
}

Ranking ApproximateIndex::nearest(const CandidateRequest& request) const {
  if (request.snapshot == nullptr) {
    throw Error(ErrorKind::internal, "an index needs the store that it was made of");
  }
  const std::size_t dim = request.queries.dim;
  const std::size_t wanted = kOverFetch * request.depth;
  if (request.admitted && scan_is_cheaper(request.admitted->size(), size(), wanted)) {
    return scan_stored(request, 1);
  }
  const std::size_t longest = request.admitted ? longest_admitted(request) : size();
  Ranking ranking(request.queries.count, std::min(request.depth, longest));
  for (std::size_t q = 0; q < request.queries.count; ++q) {
    const std::span<const float> query(request.queries.data + q * dim, dim);
    std::vector<std::int64_t> ids = about_nearest(query, wanted, request.admitted);
    std::erase_if(ids, [&](std::int64_t id) {
      return (!request.exclude.empty() && request.exclude[q] == id) ||
             !request.snapshot->contains(id);
    });
    if (request.admitted && ids.size() < ranking.depth) {
      put_scanned(request, q, ranking);
      continue;
    }
    std::vector<const float*> vectors;
    for (const std::int64_t id : ids) vectors.push_back(request.snapshot->global(id));
    put_by_cosine(query, ids, vectors, ranking, q);
  }
  return ranking;
}

double recall_of(const ApproximateIndex& index, VectorsView vectors,
                 std::span<const std::int64_t> ids, std::size_t depth, std::size_t queries,
                 int threads) {
  return recall_of([&](std::span<const float> query,
                       std::size_t wanted) { return index.about_nearest(query, wanted); },
                   vectors, ids, depth, queries, threads);
}

double recall_of(const AboutNearest& about_nearest, VectorsView vectors,
                 std::span<const std::int64_t> ids, std::size_t depth, std::size_t queries,
                 int threads) {
  const std::size_t asked = std::min(queries, vectors.count);
  std::vector<float> sample;
  std::vector<std::int64_t> themselves;
  for (std::size_t q = 0; q < asked; ++q) {
    const std::size_t place = q * vectors.count / asked;
    sample.insert(sample.end(), vectors.data + place * vectors.dim,
                  vectors.data + (place + 1) * vectors.dim);
    themselves.push_back(static_cast<std::int64_t>(place));
  }
  const Ranking exact = make_exact_source(vectors, threads)
                            ->nearest({{sample.data(), asked, vectors.dim}, depth, themselves});
  if (exact.depth == 0) return 1.0;
  std::size_t found = 0;
  for (std::size_t q = 0; q < asked; ++q) {
    std::vector<std::int64_t> near =
        about_nearest({&sample[q * vectors.dim], vectors.dim}, kOverFetch * exact.depth);
    std::sort(near.begin(), near.end());
    for (const std::int64_t place : exact.ids_of(q)) {
      const std::int64_t id = ids[static_cast<std::size_t>(place)];
      if (std::binary_search(near.begin(), near.end(), id)) ++found;
    }
  }
  return static_cast<double>(found) / static_cast<double>(asked * exact.depth);
}

}  // namespace diml
