#include <map>
#include <set>

#include <gtest/gtest.h>

#include "diml/error.h"
#include "learn/sampler.h"

namespace diml::learn {
namespace {

using Batches = std::vector<std::vector<std::size_t>>;

// `classes` classes of `images` images each, mixed.
std::vector<std::int64_t> even_labels(std::size_t classes, std::size_t images) {
  std::vector<std::int64_t> labels;
  for (std::size_t k = 0; k < classes * images; ++k) {
    labels.push_back(static_cast<std::int64_t>(k % classes) * 10);
  }
  return labels;
}

std::string refusal(const SamplerParams& params, const std::vector<std::int64_t>& labels) {
  try {
    make_sampler(params, labels);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(MPerClass, BatchesAreClassesWithSoManyDifferentImagesEach) {
  const std::vector<std::int64_t> labels = even_labels(30, 7);
  const auto sampler = make_sampler({.batch = 24, .per_class = 3}, labels);
  const Batches batches = sampler->epoch(0);
  ASSERT_EQ(batches.size(), 210u / 24u);
  for (const std::vector<std::size_t>& batch : batches) {
    ASSERT_EQ(batch.size(), 24u);
    EXPECT_EQ(std::set<std::size_t>(batch.begin(), batch.end()).size(), 24u);
    std::map<std::int64_t, int> count;
    for (const std::size_t image : batch) ++count[labels.at(image)];
    EXPECT_EQ(count.size(), 8u);
    for (const auto& [label, images] : count) EXPECT_EQ(images, 3);
  }
}

TEST(MPerClass, ThePapersBatchIs56ClassesOfTwo) {
  const std::vector<std::int64_t> labels = even_labels(100, 58);
  const Batches batches = make_sampler({}, labels)->epoch(0);
  EXPECT_EQ(batches.size(), 5800u / 112u);
  for (const std::vector<std::size_t>& batch : batches) {
    std::set<std::int64_t> classes;
    for (const std::size_t image : batch) classes.insert(labels[image]);
    EXPECT_EQ(classes.size(), 56u);
  }
}

TEST(MPerClass, ShardsHaveNoClassInCommon) {
  const std::vector<std::int64_t> labels = even_labels(20, 5);
  const Batches batches =
      make_sampler({.batch = 24, .per_class = 2, .shards = 3}, labels)->epoch(4);
  for (const std::vector<std::size_t>& batch : batches) {
    std::map<std::int64_t, std::set<std::size_t>> shards_of;
    for (std::size_t k = 0; k < batch.size(); ++k) shards_of[labels[batch[k]]].insert(k / 8);
    EXPECT_EQ(shards_of.size(), 12u);
    for (const auto& [label, shards] : shards_of) EXPECT_EQ(shards.size(), 1u);
  }
}

TEST(MPerClass, SmallClassesGiveImagesMoreThanOnce) {
  const std::vector<std::int64_t> labels = {1, 2, 2, 3, 3, 3, 3, 3};
  for (const std::vector<std::size_t>& batch :
       make_sampler({.batch = 8, .per_class = 4}, labels)->epoch(0)) {
    std::map<std::int64_t, int> count;
    for (const std::size_t image : batch) ++count[labels.at(image)];
    EXPECT_EQ(count.size(), 2u);
    for (const auto& [label, images] : count) EXPECT_EQ(images, 4);
  }
}

TEST(MPerClass, EveryImageHasItsTurn) {
  const std::vector<std::int64_t> labels = even_labels(8, 5);
  const auto sampler = make_sampler({.batch = 8, .per_class = 2}, labels);
  std::set<std::size_t> seen;
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    for (const std::vector<std::size_t>& batch : sampler->epoch(epoch)) {
      seen.insert(batch.begin(), batch.end());
    }
  }
  EXPECT_EQ(seen.size(), labels.size());
}

TEST(RandomSampler, TakesEveryImageAtMostOnceAnEpoch) {
  const std::vector<std::int64_t> labels = even_labels(5, 9);
  const Batches batches = make_sampler({.name = "random", .batch = 8}, labels)->epoch(3);
  ASSERT_EQ(batches.size(), 5u);
  std::set<std::size_t> seen;
  for (const std::vector<std::size_t>& batch : batches) {
    EXPECT_EQ(batch.size(), 8u);
    seen.insert(batch.begin(), batch.end());
  }
  EXPECT_EQ(seen.size(), 40u);
}

TEST(Samplers, DependOnTheSeedAndTheEpochAlone) {
  const std::vector<std::int64_t> labels = even_labels(20, 5);
  for (const SamplerKind& kind : sampler_kinds()) {
    SamplerParams params{.name = kind.name, .batch = 12, .per_class = 2, .seed = 1};
    const auto sampler = make_sampler(params, labels);
    const Batches first = sampler->epoch(0);
    const Batches next = sampler->epoch(1);
    EXPECT_NE(first, next);
    EXPECT_EQ(sampler->epoch(0), first);
    EXPECT_EQ(make_sampler(params, labels)->epoch(1), next);
    params.seed = 2;
    EXPECT_NE(make_sampler(params, labels)->epoch(0), first);
  }
}

TEST(Samplers, RefuseWhatCannotBeABatch) {
  const std::vector<std::int64_t> labels = even_labels(10, 5);
  EXPECT_EQ(refusal({.name = "m_per_clas"}, labels),
            "there is no sampler 'm_per_clas': did you mean m_per_class?");
  EXPECT_EQ(refusal({.batch = 10, .per_class = 4}, labels),
            "a batch of 10 does not divide into classes of 4 images: make it a multiple");
  EXPECT_EQ(refusal({.batch = 12, .per_class = 4, .shards = 2}, labels),
            "a batch of 6 per shard does not divide into classes of 4 images: make it a multiple");
  EXPECT_EQ(refusal({.batch = 10, .per_class = 2, .shards = 3}, labels),
            "a batch of 10 does not divide into 3 shards: make it a multiple");
  EXPECT_EQ(refusal({.batch = 24, .per_class = 2}, labels),
            "a batch of 12 classes x 2 images needs 12 classes, not 10: use a smaller batch, or "
            "more images per class");
  EXPECT_EQ(refusal({.batch = 60, .per_class = 6}, labels),
            "a batch of 60 is more than the 50 training images: use a smaller batch");
  EXPECT_NE(refusal({.batch = 0}, labels), "");
  EXPECT_NE(refusal({.batch = 8, .per_class = 0}, labels), "");
  EXPECT_NE(refusal({.batch = 8, .shards = 0}, labels), "");
}

}  // namespace
}  // namespace diml::learn
