#include "diml/candidates.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "diml/error.h"

namespace diml {
namespace {

std::vector<float> random_vectors(std::size_t count, std::size_t dim, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count * dim);
  for (float& value : values) value = normal(random);
  return values;
}

double dot(const float* x, const float* y, std::size_t dim) {
  double sum = 0.0;
  for (std::size_t d = 0; d < dim; ++d) sum += static_cast<double>(x[d]) * y[d];
  return sum;
}

// A full sort in double.
std::vector<std::int64_t> all_sorted(const float* query, const std::vector<float>& gallery,
                                     std::size_t dim, std::int64_t exclude) {
  std::vector<std::int64_t> ids(gallery.size() / dim);
  std::iota(ids.begin(), ids.end(), std::int64_t{0});
  if (exclude >= 0) ids.erase(ids.begin() + exclude);
  std::stable_sort(ids.begin(), ids.end(), [&](std::int64_t x, std::int64_t y) {
    return dot(query, &gallery[static_cast<std::size_t>(x) * dim], dim) >
           dot(query, &gallery[static_cast<std::size_t>(y) * dim], dim);
  });
  return ids;
}

TEST(ExactSource, FindsWhatAFullSortFinds) {
  for (const std::size_t dim : {1u, 7u, 33u, 128u}) {
    for (const std::size_t size : {1u, 2u, 95u, 97u, 1000u}) {
      const std::vector<float> gallery = random_vectors(size, dim, 1);
      const std::vector<float> queries = random_vectors(37, dim, 2);
      const Ranking ranking =
          make_exact_source({gallery.data(), size, dim})->nearest({{queries.data(), 37, dim}, 20});
      ASSERT_EQ(ranking.depth, std::min<std::size_t>(20, size));
      for (std::size_t q = 0; q < 37; ++q) {
        const std::vector<std::int64_t> expected = all_sorted(&queries[q * dim], gallery, dim, -1);
        for (std::size_t k = 0; k < ranking.depth; ++k) {
          const std::int64_t id = ranking.ids_of(q)[k];
          const double score =
              dot(&queries[q * dim], &gallery[static_cast<std::size_t>(id) * dim], dim);
          const double best =
              dot(&queries[q * dim], &gallery[static_cast<std::size_t>(expected[k]) * dim], dim);
          EXPECT_NEAR(score, best, 1e-4);  // near-ties may swap in float32
          EXPECT_NEAR(ranking.scores_of(q)[k], score, 1e-4);
        }
      }
    }
  }
}

TEST(ExactSource, TiesGoToTheLowerId) {
  // Small integers: every product is exact, and there are many ties.
  constexpr std::size_t kDim = 3;
  constexpr std::size_t kSize = 700;
  std::mt19937 random(3);
  std::vector<float> gallery(kSize * kDim);
  for (float& value : gallery) value = static_cast<float>(random() % 3);
  const Ranking ranking =
      make_exact_source({gallery.data(), kSize, kDim})->nearest({{gallery.data(), 50, kDim}, 100});
  for (std::size_t q = 0; q < 50; ++q) {
    const std::vector<std::int64_t> expected = all_sorted(&gallery[q * kDim], gallery, kDim, -1);
    EXPECT_TRUE(std::equal(ranking.ids_of(q).begin(), ranking.ids_of(q).end(), expected.begin()));
  }
}

TEST(ExactSource, LeavesTheExcludedIdOut) {
  const std::vector<float> gallery = random_vectors(60, 8, 4);
  std::vector<std::int64_t> themselves(60);
  std::iota(themselves.begin(), themselves.end(), std::int64_t{0});
  const Ranking ranking = make_exact_source({gallery.data(), 60, 8})
                              ->nearest({{gallery.data(), 60, 8}, 1000, themselves});
  EXPECT_EQ(ranking.depth, 59u);
  for (std::size_t q = 0; q < 60; ++q) {
    std::vector<std::int64_t> ids(ranking.ids_of(q).begin(), ranking.ids_of(q).end());
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
    EXPECT_FALSE(std::binary_search(ids.begin(), ids.end(), static_cast<std::int64_t>(q)));
  }
}

TEST(ExactSource, DoesNotDependOnThreadsOrOtherQueries) {
  const std::vector<float> gallery = random_vectors(2000, 64, 5);
  const VectorsView view{gallery.data(), 2000, 64};
  const Ranking expected = make_exact_source(view, 1)->nearest({{gallery.data(), 300, 64}, 50});
  for (const int threads : {2, 3}) {
    const Ranking ranking =
        make_exact_source(view, threads)->nearest({{gallery.data(), 300, 64}, 50});
    EXPECT_EQ(ranking.ids, expected.ids);
    EXPECT_EQ(ranking.scores, expected.scores);
  }
  const Ranking alone = make_exact_source(view)->nearest({{gallery.data() + 123 * 64, 1, 64}, 50});
  EXPECT_TRUE(
      std::equal(alone.scores.begin(), alone.scores.end(), expected.scores_of(123).begin()));
}

TEST(ExactSource, RefusesWhatDoesNotFit) {
  const std::vector<float> gallery = random_vectors(10, 8, 6);
  const auto stage = make_exact_source({gallery.data(), 10, 8});
  EXPECT_THROW(stage->nearest({{gallery.data(), 5, 4}, 3}), Error);
  const std::vector<std::int64_t> one = {0};
  EXPECT_THROW(stage->nearest({{gallery.data(), 5, 8}, 3, one}), Error);
  EXPECT_EQ(stage->nearest({{gallery.data(), 5, 8}, 0}).depth, 0u);
}

// With fewer queries than threads, the threads divide the gallery.
TEST(ExactSource, OneQueryHasTheSameListOnAnyNumberOfThreadsAndInAnyCompany) {
  constexpr std::size_t kDim = 33;
  for (const std::size_t size : {1u, 2u, 9u, 100u, 1003u}) {
    std::vector<float> gallery = random_vectors(size, kDim, 3);
    // Equal scores on both sides of every border between parts.
    for (std::size_t i = 0; i + 7 < size; i += 5) {
      std::copy_n(&gallery[0], kDim, &gallery[i * kDim]);
    }
    const std::vector<float> queries = random_vectors(40, kDim, 4);
    std::vector<std::int64_t> exclude(40);
    for (std::size_t q = 0; q < 40; ++q) exclude[q] = static_cast<std::int64_t>(q * 31 % size);
    const VectorsView view{gallery.data(), size, kDim};
    const Ranking together =
        make_exact_source(view, 1)->nearest({{queries.data(), 40, kDim}, 20, exclude});
    for (const int threads : {1, 2, 3, 7}) {
      const auto first_stage = make_exact_source(view, threads);
      for (std::size_t q = 0; q < 40; q += 3) {
        const Ranking alone = first_stage->nearest(
            {{&queries[q * kDim], 1, kDim}, 20, std::span(exclude).subspan(q, 1)});
        ASSERT_EQ(alone.depth, together.depth);
        for (std::size_t k = 0; k < alone.depth; ++k) {
          EXPECT_EQ(alone.ids[k], together.ids_of(q)[k]) << size << " " << threads << " " << q;
          EXPECT_EQ(alone.scores[k], together.scores_of(q)[k]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace diml
