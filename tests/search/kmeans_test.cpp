#include "search/kmeans.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "base/refusal.h"
#include "diml/error.h"

namespace diml {
namespace {

// `clusters` tight clouds far apart.
std::vector<float> clouds(std::size_t clusters, std::size_t each, std::size_t dim) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> points;
  for (std::size_t c = 0; c < clusters; ++c) {
    std::vector<float> centre(dim);
    for (float& value : centre) value = 10.0f * normal(random);
    for (std::size_t k = 0; k < each; ++k) {
      for (std::size_t d = 0; d < dim; ++d) points.push_back(centre[d] + 0.01f * normal(random));
    }
  }
  return points;
}

TEST(KMeans, FindsCloudsThatLieApart) {
  const std::vector<float> points = clouds(2, 30, 5);
  const std::vector<std::int64_t> cluster = kmeans({points.data(), 60, 5}, {.clusters = 2});
  for (std::size_t i = 0; i < 60; ++i) EXPECT_EQ(cluster[i], cluster[i / 30 * 30]);
  EXPECT_NE(cluster[0], cluster[30]);
}

TEST(KMeans, IsTheSameForAnyThreadCountAndDiffersByTheSeedAlone) {
  const std::vector<float> points = clouds(40, 5, 8);
  const VectorsView view{points.data(), 200, 8};
  const auto run = [&view](int threads, std::uint64_t seed) {
    return kmeans(view, {.clusters = 40, .seed = seed, .threads = threads});
  };
  EXPECT_EQ(run(1, 0), run(3, 0));
  EXPECT_NE(run(1, 0), run(1, 1));
}

TEST(KMeans, EachPointMayBeItsOwnClusterAndAllMayShareOne) {
  const std::vector<float> points = clouds(6, 1, 3);
  const std::vector<std::int64_t> own = kmeans({points.data(), 6, 3}, {.clusters = 6});
  EXPECT_EQ(std::set<std::int64_t>(own.begin(), own.end()).size(), 6u);
  const std::vector<std::int64_t> one = kmeans({points.data(), 6, 3}, {.clusters = 1});
  EXPECT_EQ(one, std::vector<std::int64_t>(6, 0));
  EXPECT_THROW(kmeans({points.data(), 6, 3}, {.clusters = 7}), Error);
  EXPECT_THROW(kmeans({points.data(), 6, 3}, {.clusters = 0}), Error);
}

TEST(KMeans, IdenticalPointsShareTheFirstCluster) {
  const std::vector<float> points(40 * 4, 1.0f);
  for (const std::uint64_t seed : {0, 1, 2}) {
    EXPECT_EQ(kmeans({points.data(), 40, 4}, {.clusters = 5, .seed = seed}),
              std::vector<std::int64_t>(40, 0));
  }
}

TEST(KMeans, AClusterThatIsLeftEmptyTakesAVectorFarFromItsOwnCentre) {
  // Eight equal points, and two near each other: an initialisation with two of the eight has a
  // spare cluster, and uses it to separate the two.
  std::vector<float> points;
  for (int k = 0; k < 8; ++k) points.insert(points.end(), {1.0f, 0.0f});
  points.insert(points.end(), {0.0f, 1.0f, -0.6f, 0.8f});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<std::int64_t> cluster =
        kmeans({points.data(), 10, 2}, {.clusters = 3, .seed = seed});
    for (std::size_t i = 1; i < 10; ++i) {
      EXPECT_EQ(cluster[i] == cluster[0], i < 8) << "point " << i << ", seed " << seed;
    }
    EXPECT_NE(cluster[8], cluster[9]) << "seed " << seed;
  }
}

TEST(KMeans, CanBeCancelledBetweenTwoIterations) {
  const std::vector<float> points = clouds(40, 5, 8);
  std::size_t reports = 0;
  const Progress after_one([&](std::size_t, std::size_t) { ++reports; },
                           [&] { return reports >= 1; });
  test::expect_refused(
      [&] {
        kmeans({points.data(), 200, 8}, {.clusters = 40}, after_one);
      },
      "cancelled", ErrorKind::cancelled);
  EXPECT_EQ(reports, 1U);
}

}  // namespace
}  // namespace diml
