#include "match/affine_prior.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "diml/error.h"
#include "diml/matcher.h"
#include "placed_grid.h"

namespace diml {
namespace {

constexpr AffineMap kMirrored = {-1, 0, 0, 0, 1, 0};
constexpr AffineMap kSame = {1, 0, 0, 0, 1, 0};

struct Plan {
  GridShape source;
  GridShape target;
  std::vector<double> mass = std::vector<double>(source.count() * target.count());

  double& at(std::size_t i, std::size_t j) { return mass[i * target.count() + j]; }
  MatrixView view() const { return {mass.data(), source.count(), target.count()}; }
};

// All mass of the cell in row r, column c goes to the mirrored column of the same row.
Plan mirrored_plan(std::size_t side) {
  Plan plan{{side, side}, {side, side}};
  for (std::size_t r = 0; r < side; ++r) {
    for (std::size_t c = 0; c < side; ++c) plan.at(r * side + c, r * side + side - 1 - c) = 1.0;
  }
  return plan;
}

void expect_map(const AffineMap& found, const AffineMap& wanted, double within) {
  for (std::size_t k = 0; k < wanted.size(); ++k) EXPECT_NEAR(found[k], wanted[k], within) << k;
}

TEST(AffineFit, FindsAMirrorImage) {
  const PriorReport fit = fit_affine(mirrored_plan(4).view(), {4, 4}, {4, 4});
  EXPECT_TRUE(fit.trusted());
  EXPECT_NEAR(fit.support, 1.0, 1e-9);
  expect_map(fit.map, kMirrored, 1e-9);
}

TEST(AffineFit, FindsAMapBetweenGridsOfDifferentShapes) {
  // Every second column of a 2 x 6 grid against 1.5 times enlarged 2 x 3.
  Plan plan{{2, 3}, {2, 6}};
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::size_t c = 0; c < 3; ++c) plan.at(r * 3 + c, r * 6 + c + 3) = 1.0 / 6.0;
  }
  const PriorReport fit = fit_affine(plan.view(), plan.source, plan.target);
  EXPECT_TRUE(fit.trusted());
  // A cell is 1/3 of the source's longer side and 1/6 of the target's; the middle of the source
  // goes one and a half target cells to the right.
  expect_map(fit.map, {0.5, 0, 0.25, 0, 0.5, 0}, 1e-9);
}

TEST(AffineFit, CellsThatMoveOtherwiseDoNotDecide) {
  Plan plan = mirrored_plan(7);
  for (std::size_t j = 0; j < 7; ++j) {  // the lowest row of the source goes to a corner
    for (std::size_t k = 0; k < 49; ++k) plan.at(42 + j, k) = k == 0 ? 1.0 : 0.0;
  }
  const PriorReport fit = fit_affine(plan.view(), plan.source, plan.target);
  EXPECT_TRUE(fit.trusted());
  expect_map(fit.map, kMirrored, 0.02);
}

TEST(AffineFit, MassOnALineDeterminesNoMap) {
  Plan plan{{3, 3}, {3, 3}};
  for (std::size_t c = 0; c < 3; ++c) plan.at(c, c) = 1.0 / 3.0;
  EXPECT_EQ(fit_affine(plan.view(), plan.source, plan.target).doubt, FitDoubt::few_cells);
  Plan single{{1, 1}, {2, 2}, {0.25, 0.25, 0.25, 0.25}};
  EXPECT_EQ(fit_affine(single.view(), single.source, single.target).doubt, FitDoubt::few_cells);
}

TEST(AffineFit, AMapOntoALineHasCollapsed) {
  Plan plan{{3, 3}, {3, 3}};
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 3; ++c) plan.at(r * 3 + c, 3 + c) = 1.0 / 9.0;
  }
  EXPECT_EQ(fit_affine(plan.view(), plan.source, plan.target).doubt, FitDoubt::collapsed);
}

TEST(AffineFit, AnEvenFlowIsNotTrusted) {
  Plan plan{{4, 4}, {4, 4}};
  std::fill(plan.mass.begin(), plan.mass.end(), 1.0 / 256.0);
  EXPECT_FALSE(fit_affine(plan.view(), plan.source, plan.target).trusted());
}

TEST(AffinePenalties, AreThoseOfAGaussianLessEachRowsLeast) {
  // One row of three cells, a third apart.
  const std::vector<double> penalties = affine_penalties({1, 0, 0, 0, 1, 0}, {1, 3}, {1, 3}, 0.5);
  const double once = (1.0 / 9.0) / 0.5;
  const std::vector<double> wanted = {0, once, 4 * once, once, 0, once, 4 * once, once, 0};
  for (std::size_t k = 0; k < wanted.size(); ++k) EXPECT_NEAR(penalties[k], wanted[k], 1e-12) << k;
}

// Mirrored images of one scene that nearly repeats itself.
struct MirroredPair {
  EmbeddingGrid source = test::placed_grid({6, 6}, 48, kSame, 1, 0.8, 6.0);
  EmbeddingGrid target = test::placed_grid({6, 6}, 48, kMirrored, 2, 0.8, 6.0);

  static double mass_at_home(const StructuralMatch& match) {
    double mass = 0.0;
    for (std::size_t i = 0; i < 36; ++i) mass += match.plan(i, i / 6 * 6 + 5 - i % 6);
    return mass;
  }
};

MatchParams with_prior(Backend backend) {
  MatchParams params;
  params.transport = {.backend = backend, .tolerance = 1e-7, .max_iterations = 20000};
  params.prior = Prior::affine;
  return params;
}

class MatchWithPrior : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (!is_available(GetParam())) GTEST_SKIP() << "built without " << name_of(GetParam());
  }
};

TEST_P(MatchWithPrior, BringsMassToWhereItBelongsInAMirrorImage) {
  const MirroredPair pair;
  MatchParams plain = with_prior(GetParam());
  plain.prior = Prior::none;
  const StructuralMatch without = match(pair.source, pair.target, plain);
  const StructuralMatch with = match(pair.source, pair.target, with_prior(GetParam()));
  EXPECT_FALSE(without.prior);
  ASSERT_TRUE(with.prior);
  EXPECT_TRUE(with.prior->trusted());
  EXPECT_EQ(with.prior->rounds, 3);
  EXPECT_LT(with.prior->map[0] * with.prior->map[4], 0.0) << "a reflection";
  EXPECT_GT(MirroredPair::mass_at_home(with), 1.1 * MirroredPair::mass_at_home(without));
}

TEST_P(MatchWithPrior, TheScoreIsStillTheSumOfWhatIsShownAndTheMarginalsAreMet) {
  const MirroredPair pair;
  const StructuralMatch found = match(pair.source, pair.target, with_prior(GetParam()));
  double sum = 0.0;
  for (std::size_t i = 0; i < 36; ++i) {
    double row = 0.0;
    for (std::size_t j = 0; j < 36; ++j) {
      sum += found.contribution(i, j);
      row += found.plan(i, j);
    }
    EXPECT_NEAR(row, found.marginals.source[i], 1e-6);
  }
  EXPECT_NEAR(sum, found.score, 1e-12);
  EXPECT_TRUE(found.plan.converged);
}

TEST_P(MatchWithPrior, WhatIsNotTrustedLeavesThePlanAsItIs) {
  // Nothing distinguishes places: the flow is nearly even.
  const EmbeddingGrid source(std::vector<float>(9 * 4, 1.0F), 4);
  const EmbeddingGrid target(std::vector<float>(16 * 4, 1.0F), 4);
  MatchParams plain = with_prior(GetParam());
  plain.prior = Prior::none;
  const StructuralMatch without = match(source, target, plain);
  const StructuralMatch with = match(source, target, with_prior(GetParam()));
  ASSERT_TRUE(with.prior);
  EXPECT_FALSE(with.prior->trusted());
  EXPECT_EQ(with.prior->rounds, 0);
  EXPECT_EQ(with.plan.mass, without.plan.mass);
  EXPECT_EQ(with.score, without.score);
}

TEST_P(MatchWithPrior, ABatchGivesTheSameAndReportsIt) {
  const MirroredPair pair;
  const StructuralMatch alone = match(pair.source, pair.target, with_prior(GetParam()));
  GridSet set(2, 36, 48);
  set.put(0, pair.source);
  set.put(1, pair.target);
  const std::vector<Pair> pairs = {{0, 1}, {1, 0}, {0, 1}};
  std::vector<float> scores(3);
  std::vector<float> plans(3 * 36 * 36);
  std::vector<PairReport> reports(3);
  make_matcher(GetParam())
      ->plans({set.view(), set.view(), pairs}, with_prior(GetParam()), scores, plans, reports);
  EXPECT_NEAR(scores[0], alone.score, 1e-6);
  EXPECT_EQ(scores[0], scores[2]);
  ASSERT_TRUE(reports[0].prior);
  EXPECT_TRUE(reports[0].prior->trusted());
  EXPECT_EQ(reports[0].prior->rounds, 3);
  for (std::size_t k = 0; k < 36 * 36; ++k) {
    EXPECT_NEAR(plans[k], alone.plan.mass[k], 1e-6);
    EXPECT_EQ(plans[k], plans[2 * 36 * 36 + k]);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, MatchWithPrior,
                         testing::Values(Backend::reference, Backend::cpu),
                         [](const auto& backend) { return std::string(name_of(backend.param)); });

void expect_refusal(const MatchParams& params, ErrorKind kind, const char* words,
                    std::size_t cells = 4) {
  const EmbeddingGrid grid(std::vector<float>(cells * 2, 1.0F), 2);
  try {
    match(grid, grid, params);
    FAIL() << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(AffinePrior, IsRefusedWhereItCannotBe) {
  MatchParams params = with_prior(Backend::reference);
  params.certificate = Certificate::duality_gap;
  expect_refusal(params, ErrorKind::unsupported, "certificate");
  params = with_prior(Backend::reference);
  params.affine.sigma = 0.0;
  expect_refusal(params, ErrorKind::bad_input, "sigma");
  params = with_prior(Backend::reference);
  params.affine.rounds = 0;
  expect_refusal(params, ErrorKind::bad_input, "rounds");
  expect_refusal(with_prior(Backend::reference), ErrorKind::bad_input, "rows and columns", 12);
  params = with_prior(Backend::reference);
  params.source_shape = {3, 3};
  expect_refusal(params, ErrorKind::bad_input, "4 cells, not 3 x 3");
  try {
    check_prior(with_prior(Backend::cuda), Backend::cuda);
    FAIL() << "a GPU has no prior";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  }
  if (is_available(Backend::exact)) {
    expect_refusal(with_prior(Backend::exact), ErrorKind::unsupported, "'exact' has no prior");
  }
}

TEST(AffinePrior, TheShapeDecidesWhereCellsLie) {
  MatchParams params = with_prior(Backend::reference);
  const EmbeddingGrid source = test::placed_grid({2, 6}, 24, kSame, 3);
  const EmbeddingGrid target = test::placed_grid({2, 6}, 24, kSame, 4);
  const auto mass_at_home = [&](GridShape shape_of_target) {
    params.source_shape = {2, 6};
    params.target_shape = shape_of_target;
    const StructuralMatch found = match(source, target, params);
    double mass = 0.0;
    for (std::size_t i = 0; i < 12; ++i) mass += found.plan(i, i);
    return mass;
  };
  EXPECT_GT(mass_at_home({2, 6}), mass_at_home({6, 2}));
  EXPECT_GT(mass_at_home({2, 6}), mass_at_home({3, 4}));
}

TEST(AffinePrior, NamesReadBack) {
  EXPECT_EQ(prior_from("affine"), Prior::affine);
  EXPECT_STREQ(name_of(Prior::none), "none");
  EXPECT_THROW((void)prior_from("projective"), Error);
  EXPECT_STREQ(name_of(FitDoubt::collapsed), "collapsed");
  EXPECT_EQ(fit_doubt_from("scattered"), FitDoubt::scattered);
}

}  // namespace
}  // namespace diml
