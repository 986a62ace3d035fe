#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "diml/error.h"
#include "diml/evaluate.h"
#include "random_grid.h"

namespace diml {
namespace {

using Labels = std::vector<std::int64_t>;
using Roles = std::vector<Role>;

// Few classes, so that some have much to find; images of a class have nothing in common, so that
// every number lies between 0 and 1.
Labels random_labels(std::size_t size, std::size_t classes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Labels labels(size);
  for (std::int64_t& label : labels) label = static_cast<std::int64_t>(random() % classes);
  return labels;
}

Roles random_roles(std::size_t size, const Roles& among, std::uint64_t seed) {
  std::mt19937_64 random(seed + 1000);  // not the numbers that the labels came from
  Roles roles(size);
  for (Role& role : roles) role = among[random() % among.size()];
  return roles;
}

// A second, slow implementation of the protocol: in double, full sorts, every metric from its
// definition.
struct Slow {
  const GridSet& grids;
  const Labels& labels;
  const Roles& roles;

  bool may_find(std::size_t query, std::size_t id) const {
    return id != query && roles[id] != Role::query;
  }

  Labels ranked_labels(std::size_t query, std::size_t k) const {
    std::vector<std::pair<double, std::size_t>> ranked;  // by falling similarity, then by id
    for (std::size_t id = 0; id < grids.size(); ++id) {
      if (!may_find(query, id)) continue;
      double cosine = 0.0;
      for (std::size_t d = 0; d < grids.dim(); ++d) {
        cosine += static_cast<double>(grids[query].global[d]) * grids[id].global[d];
      }
      ranked.push_back({-cosine, id});
    }
    std::sort(ranked.begin(), ranked.end());
    const std::size_t head = std::min(k, ranked.size());
    for (std::size_t rank = 0; rank < head; ++rank) {
      ranked[rank].first -= match(grids[query], grids[ranked[rank].second]).score;
    }
    std::sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(head));
    Labels found;
    for (const auto& [similarity, id] : ranked) found.push_back(labels[id]);
    return found;
  }

  std::size_t relevant(std::size_t query) const {
    std::size_t count = 0;
    for (std::size_t id = 0; id < grids.size(); ++id) {
      if (may_find(query, id) && labels[id] == labels[query]) ++count;
    }
    return count;
  }

  static double hits(const Labels& ranked, std::int64_t label, std::size_t places) {
    const auto end = ranked.begin() + static_cast<std::ptrdiff_t>(std::min(places, ranked.size()));
    return static_cast<double>(std::count(ranked.begin(), end, label));
  }

  static double average_precision(const Labels& ranked, std::int64_t label, std::size_t places) {
    double sum = 0.0;
    for (std::size_t rank = 0; rank < std::min(places, ranked.size()); ++rank) {
      if (ranked[rank] == label) sum += hits(ranked, label, rank + 1) / double(rank + 1);
    }
    return sum / double(places);
  }

  Evaluation evaluate(std::size_t k) const {
    Evaluation evaluation;
    evaluation.recall_ks = {1, 2, 4, 8, 10, 100};
    RetrievalMetrics sum;
    sum.recall_at.resize(evaluation.recall_ks.size());
    for (std::size_t query = 0; query < grids.size(); ++query) {
      if (roles[query] != Role::query) ++evaluation.gallery;
      if (roles[query] == Role::gallery) continue;
      const std::size_t r = relevant(query);
      if (r == 0) {
        ++evaluation.left_out;
        continue;
      }
      ++evaluation.queries;
      const std::int64_t label = labels[query];
      const Labels ranked = ranked_labels(query, k);
      sum.p_at_1 += hits(ranked, label, 1);
      sum.r_precision += hits(ranked, label, r) / double(r);
      sum.map_at_r += average_precision(ranked, label, r);
      sum.r_precision_paper += hits(ranked, label, r + 1) / double(r + 1);
      sum.map_at_r_paper += average_precision(ranked, label, r + 1);
      for (std::size_t i = 0; i < sum.recall_at.size(); ++i) {
        if (hits(ranked, label, evaluation.recall_ks[i]) > 0.0) sum.recall_at[i] += 1.0;
      }
    }
    const double queries = double(evaluation.queries);
    for (double* number : {&sum.p_at_1, &sum.r_precision, &sum.map_at_r, &sum.r_precision_paper,
                           &sum.map_at_r_paper}) {
      *number /= queries;
    }
    for (double& recall : sum.recall_at) recall /= queries;
    evaluation.results.push_back({k, sum, {}});
    return evaluation;
  }
};

void expect_same_numbers(const RetrievalMetrics& actual, const RetrievalMetrics& expected,
                         double tolerance) {
  EXPECT_NEAR(actual.p_at_1, expected.p_at_1, tolerance);
  EXPECT_NEAR(actual.r_precision, expected.r_precision, tolerance);
  EXPECT_NEAR(actual.map_at_r, expected.map_at_r, tolerance);
  EXPECT_NEAR(actual.r_precision_paper, expected.r_precision_paper, tolerance);
  EXPECT_NEAR(actual.map_at_r_paper, expected.map_at_r_paper, tolerance);
  ASSERT_EQ(actual.recall_at.size(), expected.recall_at.size());
  for (std::size_t k = 0; k < expected.recall_at.size(); ++k) {
    EXPECT_NEAR(actual.recall_at[k], expected.recall_at[k], tolerance) << k;
  }
}

void expect_the_protocol(const GridSet& grids, const Labels& labels, const Roles& roles,
                         const std::vector<std::size_t>& depths = {0, 1, 5, 12, 1000}) {
  const Evaluation evaluation = evaluate(
      grids.view(), labels,
      {.rerank = depths, .match = {}, .backend = Backend::reference, .threads = 2, .roles = roles});
  for (std::size_t r = 0; r < depths.size(); ++r) {
    SCOPED_TRACE("rerank " + std::to_string(depths[r]));
    const Evaluation expected = Slow{grids, labels, roles}.evaluate(depths[r]);
    EXPECT_EQ(evaluation.queries, expected.queries);
    EXPECT_EQ(evaluation.left_out, expected.left_out);
    EXPECT_EQ(evaluation.gallery, expected.gallery);
    EXPECT_EQ(evaluation.results[r].metrics.queries, expected.queries);
    expect_same_numbers(evaluation.results[r].metrics, expected.results[0].metrics, 1e-9);
  }
}

TEST(Roles, AreFollowedForEveryMixtureAndEveryK) {
  const std::vector<Roles> mixtures = {{Role::query, Role::gallery},
                                       {Role::query, Role::gallery, Role::both},
                                       {Role::query, Role::both},
                                       {Role::gallery, Role::both},
                                       {Role::both}};
  std::uint64_t seed = 0;
  for (const Roles& among : mixtures) {
    for (const std::size_t classes : {2u, 9u, 25u}) {
      ++seed;
      SCOPED_TRACE("seed " + std::to_string(seed));
      const GridSet grids = test::random_set(50, 3, 6, seed);
      expect_the_protocol(grids, random_labels(50, classes, seed), random_roles(50, among, seed));
    }
  }
}

// Beyond the largest k of recall, only R determines the depth of the lists; the paper's metrics
// need one rank more.
TEST(Roles, OfAClassBeyondTheKsOfRecallAreRankedToTheLastPlace) {
  const GridSet grids = test::random_set(400, 1, 4, 11);
  expect_the_protocol(
      grids, random_labels(400, 2, 11),
      random_roles(400, {Role::query, Role::gallery, Role::gallery, Role::gallery}, 11), {0});
}

TEST(Roles, LeaveTiesToTheLowerId) {
  // Each grid five times, under labels that have nothing to do with it: ties decide.
  GridSet grids(40, 3, 6);
  for (std::size_t i = 0; i < 40; ++i) grids.set(i, test::random_cells(3, 6, i % 8));
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_the_protocol(grids, random_labels(40, 4, seed),
                        random_roles(40, {Role::query, Role::gallery, Role::both}, seed));
  }
}

// A list is one shorter if the query itself is in the gallery; other lists must not lose a rank.
TEST(Roles, AQueryFromOutsideFindsTheLastOfTheGallery) {
  const GridSet grids = test::random_set(4, 2, 5, 7);
  const Labels labels = {0, 0, 0, 0};
  const Roles roles = {Role::both, Role::query, Role::gallery, Role::query};
  const Evaluation evaluation =
      evaluate(grids.view(), labels, {.rerank = {0, 2}, .match = {}, .roles = roles});
  EXPECT_EQ(evaluation.queries, 3u);
  EXPECT_EQ(evaluation.gallery, 2u);
  for (const RerankResult& result : evaluation.results) {
    EXPECT_EQ(result.metrics.r_precision, 1.0);
    EXPECT_EQ(result.metrics.map_at_r, 1.0);
    // Image 0 finds one of two, images 1 and 3 two of three.
    EXPECT_NEAR(result.metrics.r_precision_paper, (1.0 / 2 + 2.0 / 3 + 2.0 / 3) / 3, 1e-12);
  }
}

TEST(Roles, AQueryWithNothingOfItsClassToFindIsLeftOut) {
  const GridSet grids = test::random_set(4, 2, 5, 7);
  const Labels labels = {3, 5, 5, 8};
  const Roles roles = {Role::both, Role::query, Role::gallery, Role::query};
  const Evaluation evaluation = evaluate(grids.view(), labels, {.match = {}, .roles = roles});
  EXPECT_EQ(evaluation.queries, 1u);
  EXPECT_EQ(evaluation.left_out, 2u);
  const std::map<std::int64_t, RetrievalMetrics>& per_class = evaluation.results[0].per_class;
  ASSERT_EQ(per_class.size(), 1u);
  EXPECT_EQ(per_class.begin()->first, 5);
}

TEST(Roles, OfBothForAllChangeNoBit) {
  const GridSet grids = test::random_set(70, 4, 16, 3);
  const Labels labels = random_labels(70, 8, 3);
  EvaluateParams params;
  params.rerank = {0, 7, 100};
  params.nmi = true;
  const Evaluation without = evaluate(grids.view(), labels, params);
  params.roles.assign(70, Role::both);
  const Evaluation with = evaluate(grids.view(), labels, params);
  EXPECT_EQ(with.queries, without.queries);
  EXPECT_EQ(with.left_out, without.left_out);
  EXPECT_EQ(with.gallery, 70u);
  EXPECT_EQ(without.gallery, 70u);
  EXPECT_EQ(with.nmi, without.nmi);
  for (std::size_t r = 0; r < 3; ++r) {
    expect_same_numbers(with.results[r].metrics, without.results[r].metrics, 0.0);
  }
}

TEST(Roles, DoNotChangeTheClusters) {
  const GridSet grids = test::random_set(30, 2, 8, 3);
  const Labels labels = random_labels(30, 3, 3);
  EvaluateParams params;
  params.nmi = true;
  const Evaluation without = evaluate(grids.view(), labels, params);
  params.roles = random_roles(30, {Role::query, Role::gallery}, 3);
  EXPECT_EQ(evaluate(grids.view(), labels, params).nmi, without.nmi);
}

TEST(Roles, ProgressCountsTheQueries) {
  const GridSet grids = test::random_set(6, 2, 5, 7);
  const Roles roles = {Role::both,    Role::query, Role::gallery,
                       Role::gallery, Role::query, Role::gallery};
  std::vector<std::pair<std::size_t, std::size_t>> told;
  evaluate(grids.view(), Labels(6, 0), {.match = {}, .roles = roles},
           [&told](std::size_t done, std::size_t all) {
             told.push_back({done, all});
           });
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back(), (std::pair<std::size_t, std::size_t>{3, 3}));
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
}

void expect_refused(const Labels& labels, const Roles& roles, const std::string& why) {
  const GridSet grids = test::random_set(labels.size(), 2, 5, 7);
  try {
    evaluate(grids.view(), labels, {.match = {}, .roles = roles});
    FAIL() << "accepted: " << why;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

TEST(Roles, ThatLeaveNothingToDoAreRefused) {
  expect_refused({1, 1, 1}, {Role::gallery, Role::gallery, Role::gallery}, "no image is a query");
  expect_refused({1, 1, 1}, {Role::query, Role::query, Role::query}, "in the gallery");
  expect_refused({1, 1, 1}, {Role::both, Role::both}, "2 roles");
  expect_refused({1, 1, 2}, {Role::query, Role::query, Role::gallery}, "nothing to find");
  expect_refused({1, 2, 3}, {Role::both, Role::both, Role::both}, "nothing to find");
  expect_refused({1, 1, 1}, {Role::both, static_cast<Role>(0), Role::both}, "image 1 has no role");
}

}  // namespace
}  // namespace diml
