// What holds for every kind of index, with FAISS or without.

#include "diml/approximate_index.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "diml/error.h"
#include "diml/grid_store.h"

namespace diml {
namespace {

constexpr std::array<const char*, 2> kKindNames = {"hnsw", "ivf-pq"};

}  // namespace

const char* name_of(IndexKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

IndexKind index_kind_from(std::string_view name) {
  for (std::size_t k = 0; k < kKindNames.size(); ++k) {
    if (name == kKindNames[k]) return static_cast<IndexKind>(k);
  }
  throw Error("there is no kind of index '" + std::string(name) + "': hnsw or ivf-pq");
}

std::string index_file(const std::string& gallery_folder) {
  return gallery_folder + "/first_stage.faiss";
}

Ranking ApproximateIndex::nearest(const CandidateRequest& request) const {
  if (request.snapshot == nullptr) {
    throw Error(ErrorKind::internal, "an index needs the store that it was made of");
  }
  const std::size_t dim = request.queries.dim;
  Ranking ranking(request.queries.count, std::min(request.depth, size()));
  for (std::size_t q = 0; q < request.queries.count; ++q) {
    const std::span<const float> query(request.queries.data + q * dim, dim);
    std::vector<std::int64_t> ids = about_nearest(query, kOverFetch * request.depth);
    std::erase_if(ids, [&](std::int64_t id) {
      return (!request.exclude.empty() && request.exclude[q] == id) ||
             !request.snapshot->contains(id);
    });
    std::vector<const float*> vectors;
    for (const std::int64_t id : ids) vectors.push_back(request.snapshot->grid(id).global);
    const std::vector<float> exact = cosines(query, vectors);
    std::vector<std::size_t> order(ids.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
      return exact[x] != exact[y] ? exact[x] > exact[y] : ids[x] < ids[y];
    });
    for (std::size_t k = 0; k < std::min(ranking.depth, order.size()); ++k) {
      ranking.ids[q * ranking.depth + k] = ids[order[k]];
      ranking.scores[q * ranking.depth + k] = exact[order[k]];
    }
  }
  return ranking;
}

double recall_of(const ApproximateIndex& index, VectorsView vectors,
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
        index.about_nearest({&sample[q * vectors.dim], vectors.dim}, kOverFetch * exact.depth);
    std::sort(near.begin(), near.end());
    for (const std::int64_t place : exact.ids_of(q)) {
      const std::int64_t id = ids[static_cast<std::size_t>(place)];
      if (std::binary_search(near.begin(), near.end(), id)) ++found;
    }
  }
  return static_cast<double>(found) / static_cast<double>(asked * exact.depth);
}

}  // namespace diml
