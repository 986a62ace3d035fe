#include "run_plan.h"

#include <gtest/gtest.h>

namespace diml::training {
namespace {

using learn::SamplerParams;

// So many classes of so many images.
std::vector<std::int64_t> labels_of(std::size_t classes, std::size_t images) {
  std::vector<std::int64_t> labels;
  for (std::size_t k = 0; k < classes * images; ++k) {
    labels.push_back(static_cast<std::int64_t>(k % classes));
  }
  return labels;
}

// {images of the batch, of a class}
std::pair<std::size_t, std::size_t> fitted(const SamplerParams& asked, std::size_t classes,
                                           std::size_t images) {
  const SamplerParams found = fitted_batch(asked, labels_of(classes, images));
  return {found.batch, found.per_class};
}

using Batch = std::pair<std::size_t, std::size_t>;

TEST(FittedBatch, IsTheOneAskedForWhereItFits) {
  EXPECT_EQ(fitted({}, 56, 2), (Batch{112, 2}));
  EXPECT_EQ(fitted({.batch = 2}, 3, 1), (Batch{2, 2}));
}

TEST(FittedBatch, HasFewerClassesWhereThereAreFewer) {
  EXPECT_EQ(fitted({}, 5, 30), (Batch{10, 2}));
  EXPECT_EQ(fitted({.batch = 64, .per_class = 4}, 7, 3), (Batch{20, 4}));  // of 21 images
}

TEST(FittedBatch, HasFewerImagesOfAClassWhereElseOneClassWereLeft) {
  EXPECT_EQ(fitted({.batch = 64, .per_class = 8}, 2, 5), (Batch{10, 5}));
}

TEST(FittedBatch, DividesAmongProcesses) {
  EXPECT_EQ(fitted({.shards = 2}, 5, 30), (Batch{8, 2}));
  EXPECT_EQ(fitted({.name = "random", .shards = 2}, 3, 3), (Batch{8, 2}));
}

TEST(FittedBatch, OfTheRandomSamplerHasNoMoreThanAllImages) {
  EXPECT_EQ(fitted({.name = "random"}, 3, 5), (Batch{15, 2}));
}

TEST(FittedBatch, IsLeftToTheSamplerWhereNothingFits) {
  EXPECT_EQ(fitted({}, 1, 30), (Batch{112, 2}));
  EXPECT_EQ(fitted({}, 3, 1), (Batch{112, 2}));
}

TEST(TrainPlan, NamesWhatItChoseAndWhy) {
  TrainConfig config;
  const SamplerParams asked{.batch = 64, .per_class = 8};
  TrainingData data;
  data.train.labels = labels_of(2, 5);
  data.train.paths.resize(10);
  data.train.classes = 2;
  data.held_out_classes = 3;
  config.sampler = fitted_batch(asked, data.train.labels);
  const TrainPlan plan = plan_of(config, asked, data);
  EXPECT_EQ(plan.why_chosen,
            "a batch of 8 classes x 8 images does not fit 2 training classes with 10 images: it "
            "has 2 classes x 5 images instead");
  EXPECT_EQ(chosen_settings(plan), "sampler.batch=10 sampler.per_class=5");
  EXPECT_EQ(plan.best_by, "P@1 at K=100 on 3 held-out classes (test split)");
  EXPECT_EQ(plan_of(config, config.sampler, data).why_chosen, "");
}

}  // namespace
}  // namespace diml::training
