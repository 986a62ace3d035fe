#include "diml/evaluate_dataset.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/refusal.h"
#include "base/temporary_folder.h"
#include "diml/error.h"
#include "engine/calibrate_dataset.h"
#include "engine/evaluate_together.h"
#include "engine/open_network.h"

namespace diml::test {
namespace {

constexpr std::size_t kClasses = 4;
constexpr std::size_t kOfClass = 6;
constexpr std::size_t kSide = 48;

// A level of grey for each class, and noise.
Image picture(std::size_t label, std::uint64_t seed) {
  Image image{kSide, kSide, std::vector<std::uint8_t>(kSide * kSide * 3)};
  Random random(seed);
  for (std::uint8_t& pixel : image.pixels) {
    pixel = static_cast<std::uint8_t>(40 * label + random.next() % 120);
  }
  return image;
}

class DatasetEvaluations : public testing::Test {
 protected:
  // Of each class two are queries only, three are in the gallery only, and one is neither.
  DatasetEvaluations() {
    for (std::size_t i = 0; i < kClasses * kOfClass; ++i) {
      const std::size_t of_class = i % kOfClass;
      Sample sample;
      sample.label = static_cast<std::int64_t>(i / kOfClass);
      sample.path = folder_ / (std::to_string(i) + ".jpg");
      sample.is_query = of_class < 2;
      sample.is_gallery = of_class >= 2 && of_class < 5;
      const std::vector<std::uint8_t> bytes = encode_jpeg(picture(i / kOfClass, i), 90);
      write_bytes(sample.path, std::string(bytes.begin(), bytes.end()));
      data_.samples.push_back(std::move(sample));
    }
  }

  static Embedder embedder() {
    const Model model = make_model("small", StridePlace::in_3x3, 16, 3);
    const EmbeddingParams params{.grid = 2, .threads = 1};
    return {make_network(model, params), {.resize = kSide, .crop = kSide}, params};
  }
  static EvaluateParams way(std::vector<std::size_t> rerank) {
    EvaluateParams params;
    params.rerank = std::move(rerank);
    params.threads = 1;
    return params;
  }
  // By hand: grids of the images with their labels and roles.
  static Evaluation expected(const LabelledImages& images, EvaluateParams params) {
    std::vector<Image> pictures;
    for (const std::string& path : images.paths) pictures.push_back(read_image(path));
    params.roles = images.roles;
    Embedder own = embedder();
    return evaluate(own.embed(pictures).view(), images.labels, params);
  }
  static void expect_same(const Evaluation& one, const Evaluation& other) {
    EXPECT_EQ(one.queries, other.queries);
    EXPECT_EQ(one.gallery, other.gallery);
    ASSERT_EQ(one.results.size(), other.results.size());
    for (std::size_t r = 0; r < one.results.size(); ++r) {
      EXPECT_EQ(one.results[r].rerank, other.results[r].rerank);
      EXPECT_EQ(one.results[r].metrics.p_at_1, other.results[r].metrics.p_at_1);
      EXPECT_EQ(one.results[r].metrics.map_at_r, other.results[r].metrics.map_at_r);
    }
  }

  const TemporaryFolder folder_;
  Dataset data_;
};

TEST_F(DatasetEvaluations, HonourTheRolesOfTheImages) {
  const LabelledImages images = labelled_images(data_);
  EXPECT_EQ(images.paths.size(), kClasses * 5);
  Embedder embedder = this->embedder();
  const auto made = evaluate_dataset(embedder, images, {.ways = {way({0, 5})}});
  EXPECT_EQ(made.images, kClasses * 5);
  EXPECT_EQ(made.evaluations.at(0).queries, kClasses * 2);
  EXPECT_EQ(made.evaluations.at(0).gallery, kClasses * 3);
  expect_same(made.evaluations[0], expected(images, way({0, 5})));
}

TEST_F(DatasetEvaluations, GiveEveryoneBothRolesWhereTheyAreNotToldApart) {
  for (Sample& sample : data_.samples) sample.is_query = sample.is_gallery = true;
  const LabelledImages images = labelled_images(data_);
  EXPECT_TRUE(images.roles.empty());
  Embedder embedder = this->embedder();
  const auto made = evaluate_dataset(embedder, images, {.ways = {way({0})}});
  EXPECT_EQ(made.evaluations.at(0).queries, kClasses * kOfClass);
  EXPECT_EQ(made.evaluations.at(0).gallery, kClasses * kOfClass);
}

TEST_F(DatasetEvaluations, LeaveOutWhatCannotBeReadWithItsLabelAndItsRole) {
  LabelledImages images = labelled_images(data_);
  write_bytes(images.paths[0], "");
  write_bytes(images.paths[7], "");
  Embedder embedder = this->embedder();
  EXPECT_NE(message_of([&] { evaluate_dataset(embedder, images); }).find(images.paths[0]),
            std::string::npos);
  const auto made =
      evaluate_dataset(embedder, images, {.ways = {way({0, kRerankAll})}, .bad = BadImages::skip});
  ASSERT_EQ(made.bad.size(), 2U);
  EXPECT_EQ(made.bad[1].find(images.paths[7]), 0U);
  for (const std::ptrdiff_t bad : {7, 0}) {
    images.paths.erase(images.paths.begin() + bad);
    images.labels.erase(images.labels.begin() + bad);
    images.roles.erase(images.roles.begin() + bad);
  }
  EXPECT_EQ(made.images, images.paths.size());
  expect_same(made.evaluations.at(0), expected(images, way({0, images.paths.size()})));
}

TEST_F(DatasetEvaluations, LookAtTheSameGridsInSeveralWaysAndTellEachAtOnce) {
  const LabelledImages images = labelled_images(data_);
  Embedder embedder = this->embedder();
  std::vector<std::size_t> told;
  const auto made = evaluate_dataset(
      embedder, images, {.ways = {way({0}), way({5})}},
      {.on_result = [&](std::size_t way, const Evaluation&) { told.push_back(way); }});
  EXPECT_EQ(told, (std::vector<std::size_t>{0, 1}));
  expect_same(made.evaluations.at(0), expected(images, way({0})));
  expect_same(made.evaluations.at(1), expected(images, way({5})));
}

TEST_F(DatasetEvaluations, StopBetweenTwoWays) {
  const LabelledImages images = labelled_images(data_);
  Embedder embedder = this->embedder();
  std::size_t told = 0;
  expect_refused(
      [&] {
        evaluate_dataset(embedder, images, {.ways = {way({0}), way({5})}},
                         {.on_evaluate = Progress().with([&] { return told > 0; }),
                          .on_result = [&](std::size_t, const Evaluation&) { ++told; }});
      },
      "cancelled", ErrorKind::cancelled);
  EXPECT_EQ(told, 1U);
}

TEST_F(DatasetEvaluations, CanBeCancelledWhileTheyEmbedAndWhileTheyCluster) {
  const LabelledImages images = labelled_images(data_);
  Embedder embedder = this->embedder();
  const Progress ended = Progress().with([] { return true; });
  expect_refused([&] { evaluate_dataset(embedder, images, {}, {.on_embed = ended}); }, "cancelled",
                 ErrorKind::cancelled);
  EvaluateParams clustered = way({0});
  clustered.nmi = true;
  std::size_t reports = 0;
  const Progress in_kmeans([&](std::size_t, std::size_t) { ++reports; },
                           [&] { return reports > 2; });  // two groups of queries are before it
  expect_refused(
      [&] {
        evaluate_dataset(embedder, images, {.ways = {clustered}}, {.on_evaluate = in_kmeans});
      },
      "cancelled", ErrorKind::cancelled);
}

// Calibration walks the chain of evaluation: the same images, labels and roles.
TEST_F(DatasetEvaluations, AreWhatACalibrationOfTheSameImagesFinds) {
  LabelledImages images = labelled_images(data_);
  write_bytes(images.paths[3], "");
  std::vector<std::size_t> opened;
  const auto open = [&](std::size_t grid) {
    opened.push_back(grid);
    const Model model = make_model("small", StridePlace::in_3x3, 16, 3);
    const EmbeddingParams params{.grid = grid, .threads = 1};
    return Embedder(make_network(model, params), {.resize = kSide, .crop = kSide}, params);
  };
  CalibrateDatasetParams params;
  params.grids = {2, 3};
  params.how.lambdas = {0.05};
  params.how.weights = {1.0};
  params.how.depths = {5, 100};
  params.how.folds = 2;
  params.how.threads = 1;
  expect_refused([&] { calibrate_dataset(open, images, params); }, images.paths[3]);
  params.bad = BadImages::skip;
  opened.clear();
  const DatasetCalibration made = calibrate_dataset(open, images, params);
  EXPECT_EQ(opened, params.grids);
  ASSERT_EQ(made.bad.size(), 1U);
  Embedder embedder = this->embedder();
  const DatasetEvaluation evaluated =
      evaluate_dataset(embedder, images, {.ways = {way({5})}, .bad = BadImages::skip});
  for (const CalibrationTrial& trial : made.result.trials) {
    if (trial.grid != 2 || trial.rerank != 5) continue;
    EXPECT_NEAR(trial.value, 100.0 * evaluated.evaluations[0].results[0].metrics.p_at_1, 1e-4);
  }
  expect_refused(
      [&] {
        calibrate_dataset(open, images, params, {.on_embed = [](std::size_t) {
                            return Progress().with([] { return true; });
                          }});
      },
      "cancelled", ErrorKind::cancelled);
}

TEST_F(DatasetEvaluations, RefuseADataSetWithoutRoles) {
  for (Sample& sample : data_.samples) sample.is_query = sample.is_gallery = false;
  Embedder embedder = this->embedder();
  EXPECT_EQ(message_of([&] { evaluate_dataset(embedder, labelled_images(data_)); }),
            "no image of the data set is a query or in the gallery: give some of them a role");
}

}  // namespace
}  // namespace diml::test
