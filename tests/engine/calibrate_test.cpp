#include "engine/calibrate.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/refusal.h"
#include "diml/error.h"
#include "diml/evaluate.h"
#include "diml/generated.h"
#include "random_grid.h"

namespace diml {
namespace {

// Some images of a set, with their labels.
struct Labelled {
  GridSet grids;
  std::vector<std::int64_t> labels;

  Labelled(const GeneratedGrids& all, std::int64_t parity)
      : grids(static_cast<std::size_t>(
                  std::count_if(all.labels.begin(), all.labels.end(),
                                [&](std::int64_t label) { return label % 2 == parity; })),
              all.grids.cells_per_grid(), all.grids.dim()) {
    for (std::size_t i = 0; i < all.labels.size(); ++i) {
      if (all.labels[i] % 2 != parity) continue;
      grids.put(labels.size(), all.grids[i]);
      labels.push_back(all.labels[i]);
    }
  }
};

CalibrateParams few_settings() {
  CalibrateParams params;
  params.lambdas = {0.02, 0.05, 0.1};
  params.weights = {0.3, 1.0, 3.0};
  params.depths = {20, 100};
  return params;
}

double evaluated(const Labelled& images, const Calibration& setting, Criterion criterion) {
  EvaluateParams params;
  params.rerank = {setting.rerank};
  params.weights = {1.0F, static_cast<float>(setting.structural_weight)};
  params.match.transport.lambda = setting.lambda;
  const RetrievalMetrics& metrics =
      evaluate(images.grids.view(), images.labels, params).results[0].metrics;
  return 100.0 * (criterion == Criterion::p_at_1 ? metrics.p_at_1 : metrics.map_at_r);
}

TEST(Calibrate, IsNeverWorseThanThePapersSettingOnClassesThatWereHeldOut) {
  for (const double common : {0.0, 0.7}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const GeneratedGrids all =
          generate_grids({.size = 480, .classes = 48, .dim = 24, .seed = seed, .common = common});
      const Labelled training(all, 0);
      const Labelled held_out(all, 1);
      CalibrateParams params = few_settings();
      params.criterion = Criterion::map_at_r;
      const CalibrationGrids one{4, training.grids.view()};
      const CalibrationResult result = calibrate({&one, 1}, training.labels, params);
      EXPECT_GE(evaluated(held_out, result.chosen, Criterion::map_at_r),
                evaluated(held_out, {}, Criterion::map_at_r))
          << "seed " << seed << ", common " << common << ": " << setting_text(result.chosen);
    }
  }
}

TEST(Calibrate, TrialsAreWhatAnEvaluationGives) {
  const Labelled images(generate_grids({.size = 200, .classes = 20, .dim = 16, .seed = 5}), 0);
  for (const Criterion criterion : {Criterion::p_at_1, Criterion::map_at_r}) {
    CalibrateParams params = few_settings();
    params.criterion = criterion;
    const CalibrationGrids one{4, images.grids.view()};
    const CalibrationResult result = calibrate({&one, 1}, images.labels, params);
    EXPECT_EQ(result.trials.size(), 3U * 3U * 2U);
    for (const CalibrationTrial& trial : result.trials) {
      Calibration setting;
      setting.lambda = trial.lambda;
      setting.structural_weight = trial.weight;
      setting.rerank = trial.rerank;
      EXPECT_NEAR(trial.value, evaluated(images, setting, criterion), 1e-3);
    }
    EXPECT_TRUE(std::is_sorted(result.trials.begin(), result.trials.end(),
                               [](const auto& x, const auto& y) { return x.value > y.value; }));
    EXPECT_NEAR(result.chosen.paper, evaluated(images, {}, criterion), 1e-3);
    EXPECT_EQ(result.chosen.criterion, name_of(criterion));
    EXPECT_EQ(result.chosen.classes, 10U);
    EXPECT_EQ(result.chosen.images, images.labels.size());
    EXPECT_EQ(result.of_folds.size(), params.folds);
  }
}

// Cells are noise and globals are right: the structural similarity only disturbs.
Labelled disturbed() {
  const GeneratedGrids all = generate_grids({.size = 400, .classes = 20, .dim = 32, .seed = 9});
  Labelled images(all, 0);
  for (std::size_t i = 0; i < images.labels.size(); ++i) {
    const std::vector<float> noise = test::random_cells(16, 32, 100 + i);
    const std::vector<float> global =
        test::random_cells(1, 32, 7777 + static_cast<std::uint64_t>(images.labels[i]));
    std::vector<float> own = test::random_cells(1, 32, 5000 + i);
    for (std::size_t d = 0; d < own.size(); ++d) own[d] = global[d] + 0.9F * own[d];
    images.grids.set(i, noise, own);
  }
  return images;
}

TEST(Calibrate, GivesLittleWeightToCellsThatSayNothing) {
  const Labelled images = disturbed();
  CalibrateParams params = few_settings();
  params.criterion = Criterion::map_at_r;
  params.weights = {0.05, 0.3, 1.0, 3.0};
  const CalibrationGrids one{4, images.grids.view()};
  const CalibrationResult result = calibrate({&one, 1}, images.labels, params);
  EXPECT_TRUE(result.changed);
  EXPECT_LT(result.chosen.structural_weight, 1.0);
  EXPECT_GT(result.chosen.value, result.chosen.paper + result.chosen.gain_error);
}

TEST(Calibrate, ChoosesTheGridThatSaysMore) {
  // The same images: one size of grid has the cells, the other noise in their place.
  const Labelled good(generate_grids({.size = 400, .classes = 20, .dim = 32, .seed = 9}), 0);
  Labelled bad = good;
  for (std::size_t i = 0; i < bad.labels.size(); ++i) {
    bad.grids.set(i, test::random_cells(16, 32, 100 + i), {good.grids[i].global, 32});
  }
  // 16 cells each: the sizes are names here.
  const std::vector<CalibrationGrids> both = {{4, bad.grids.view()}, {7, good.grids.view()}};
  CalibrateParams params = few_settings();
  params.criterion = Criterion::map_at_r;
  EXPECT_EQ(calibrate(both, good.labels, params).chosen.grid, 7U);
}

TEST(Calibrate, ThePapersSettingStaysWhereNothingIsReliablyBetter) {
  // Labels that have nothing to do with the images.
  Labelled images(generate_grids({.size = 200, .classes = 10, .dim = 16, .seed = 3}), 0);
  for (std::size_t i = 0; i < images.labels.size(); ++i) {
    images.labels[i] = static_cast<std::int64_t>(i * 7919 % 10);
  }
  const CalibrationGrids one{4, images.grids.view()};
  const CalibrationResult result = calibrate({&one, 1}, images.labels, few_settings());
  EXPECT_FALSE(result.changed);
  EXPECT_EQ(result.chosen.lambda, 0.05);
  EXPECT_EQ(result.chosen.structural_weight, 1.0);
  EXPECT_EQ(result.chosen.rerank, 100U);
  EXPECT_EQ(result.chosen.value, result.chosen.paper);
}

// Queries look for images of the gallery alone, and images of the gallery alone ask nothing.
TEST(Calibrate, HonoursTheRolesOfTheImages) {
  const Labelled images(generate_grids({.size = 300, .classes = 20, .dim = 16, .seed = 8}), 0);
  const CalibrationGrids one{4, images.grids.view()};
  CalibrateParams params = few_settings();
  params.criterion = Criterion::map_at_r;
  for (std::size_t i = 0; i < images.labels.size(); ++i) {
    params.roles.push_back(i % 3 == 0 ? Role::query : i % 3 == 1 ? Role::gallery : Role::both);
  }
  const CalibrationResult result = calibrate({&one, 1}, images.labels, params);
  for (const CalibrationTrial& trial : result.trials) {
    EvaluateParams evaluation;
    evaluation.rerank = {trial.rerank};
    evaluation.weights = {1.0F, static_cast<float>(trial.weight)};
    evaluation.match.transport.lambda = trial.lambda;
    evaluation.roles = params.roles;
    const Evaluation wanted = evaluate(images.grids.view(), images.labels, evaluation);
    EXPECT_NEAR(trial.value, 100.0 * wanted.results[0].metrics.map_at_r, 1e-3);
  }
  const CalibrationResult without = calibrate({&one, 1}, images.labels, few_settings());
  EXPECT_NE(result.chosen.paper, without.chosen.paper);
}

TEST(Calibrate, CanBeCancelled) {
  const Labelled images(generate_grids({.size = 200, .classes = 20, .dim = 16, .seed = 5}), 0);
  const CalibrationGrids one{4, images.grids.view()};
  std::size_t reports = 0;
  const Progress after_two([&](std::size_t, std::size_t) { ++reports; },
                           [&] { return reports >= 2; });
  test::expect_refused(
      [&] {
        (void)calibrate({&one, 1}, images.labels, few_settings(), after_two);
      },
      "cancelled", ErrorKind::cancelled);
  EXPECT_EQ(reports, 2U);
}

TEST(Calibrate, DoesNotDependOnTheThreads) {
  const Labelled images(generate_grids({.size = 200, .classes = 20, .dim = 16, .seed = 5}), 0);
  const CalibrationGrids one{4, images.grids.view()};
  CalibrateParams params = few_settings();
  params.threads = 1;
  const CalibrationResult alone = calibrate({&one, 1}, images.labels, params);
  params.threads = 3;
  EXPECT_EQ(calibrate({&one, 1}, images.labels, params).chosen, alone.chosen);
}

TEST(Calibrate, RefusesWhatCannotBe) {
  const Labelled images(generate_grids({.size = 60, .classes = 6, .dim = 8, .seed = 5}), 0);
  const CalibrationGrids one{4, images.grids.view()};
  const auto refuses = [&](const CalibrateParams& params) {
    EXPECT_THROW((void)calibrate({&one, 1}, images.labels, params), Error);
  };
  CalibrateParams params = few_settings();
  refuses(params);  // three classes, five folds
  params.folds = 1;
  refuses(params);
  params = few_settings();
  params.folds = 2;
  params.lambdas = {1e-6};
  refuses(params);
  params = few_settings();
  params.folds = 2;
  params.depths = {0};
  refuses(params);
  params = few_settings();
  params.folds = 2;
  params.weights = {-1.0};
  refuses(params);
  EXPECT_THROW((void)calibrate({}, images.labels, few_settings()), Error);
  params = few_settings();
  params.folds = 2;
  params.roles = {Role::both};
  refuses(params);
  const std::vector<std::int64_t> single = {0, 1, 2};
  EXPECT_THROW((void)calibrate({&one, 1}, single, few_settings()), Error);
}

}  // namespace
}  // namespace diml
