#include "search/kmeans.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "diml/error.h"

namespace diml {
namespace {

// Nearest by Euclidean distance = largest <x, c> - |c|^2 / 2: one more dimension turns it into an
// inner product, and the exact source finds it.
std::vector<float> with_dimension(VectorsView vectors, auto last) {
  const std::size_t dim = vectors.dim;
  std::vector<float> wider(vectors.count * (dim + 1));
  for (std::size_t i = 0; i < vectors.count; ++i) {
    std::copy_n(vectors.data + i * dim, dim, &wider[i * (dim + 1)]);
    wider[i * (dim + 1) + dim] = last(vectors.data + i * dim);
  }
  return wider;
}

std::vector<std::size_t> draw(std::size_t count, std::size_t wanted, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(seed);
  // By hand: std::shuffle and the distributions differ between standard libraries.
  for (std::size_t k = 0; k < wanted; ++k) std::swap(order[k], order[k + random() % (count - k)]);
  order.resize(wanted);
  return order;
}

}  // namespace

std::vector<std::int64_t> kmeans(VectorsView vectors, const KMeansParams& params,
                                 const Progress& progress) {
  const std::size_t dim = vectors.dim;
  if (params.clusters < 1 || params.clusters > vectors.count) {
    throw Error("k-means needs 1 to " + std::to_string(vectors.count) + " clusters, not " +
                std::to_string(params.clusters));
  }
  std::vector<float> centres(params.clusters * dim);
  const std::vector<std::size_t> first = draw(vectors.count, params.clusters, params.seed);
  for (std::size_t c = 0; c < params.clusters; ++c) {
    std::copy_n(vectors.data + first[c] * dim, dim, &centres[c * dim]);
  }
  const std::vector<float> points = with_dimension(vectors, [](const float*) { return 1.0f; });
  const VectorsView points_view{points.data(), vectors.count, dim + 1};
  std::vector<std::int64_t> cluster(vectors.count, -1);

  for (int iteration = 0; iteration < params.iterations; ++iteration) {
    progress.stop_if_cancelled();
    const std::vector<float> targets =
        with_dimension({centres.data(), params.clusters, dim}, [dim](const float* centre) {
          return -0.5f * std::inner_product(centre, centre + dim, centre, 0.0f);
        });
    const Ranking nearest =
        make_exact_source({targets.data(), params.clusters, dim + 1}, params.threads)
            ->nearest({.queries = points_view, .depth = 1, .progress = progress});
    const bool unchanged = nearest.ids == cluster;
    cluster = nearest.ids;
    progress(static_cast<std::size_t>(iteration) + 1, static_cast<std::size_t>(params.iterations));
    if (unchanged) break;

    std::vector<double> sums(params.clusters * dim, 0.0);
    std::vector<std::size_t> sizes(params.clusters, 0);
    for (std::size_t i = 0; i < vectors.count; ++i) {
      const std::size_t c = static_cast<std::size_t>(cluster[i]);
      ++sizes[c];
      for (std::size_t d = 0; d < dim; ++d) sums[c * dim + d] += vectors.data[i * dim + d];
    }
    std::vector<std::size_t> loneliest(vectors.count);
    std::iota(loneliest.begin(), loneliest.end(), std::size_t{0});
    std::stable_sort(loneliest.begin(), loneliest.end(), [&nearest](std::size_t x, std::size_t y) {
      return nearest.scores[x] < nearest.scores[y];
    });
    auto next_lonely = loneliest.begin();
    for (std::size_t c = 0; c < params.clusters; ++c) {
      if (sizes[c] == 0) {
        std::copy_n(vectors.data + *next_lonely++ * dim, dim, &centres[c * dim]);
        continue;
      }
      for (std::size_t d = 0; d < dim; ++d) {
        centres[c * dim + d] =
            static_cast<float>(sums[c * dim + d] / static_cast<double>(sizes[c]));
      }
    }
  }
  return cluster;
}

}  // namespace diml
