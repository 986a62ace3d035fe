#include "loader.h"

#include <chrono>

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "diml/error.h"

namespace diml::training {
namespace {

using namespace std::chrono_literals;
using Batches = std::vector<std::vector<std::size_t>>;

class LoaderOfFiles : public testing::Test {
 protected:
  static constexpr std::size_t kFiles = 12;

  LoaderOfFiles() {
    for (std::size_t k = 0; k < kFiles; ++k) {
      paths_.push_back(folder_ / (std::to_string(k) + ".jpg"));
      put(k);
    }
  }

  // Noise of its own, so that no two parts look alike.
  void put(std::size_t k) const {
    Random random(k);
    Image image{24, 20, std::vector<std::uint8_t>(24 * 20 * 3)};
    for (std::uint8_t& value : image.pixels) value = static_cast<std::uint8_t>(random.below(256));
    const std::vector<std::uint8_t> bytes = encode_jpeg(image, 95);
    test::write_bytes(paths_[k], std::string(bytes.begin(), bytes.end()));
  }
  void remove(std::size_t k) const { std::filesystem::remove(paths_[k]); }

  ImageCache cache(std::size_t bytes = 1 << 20) const {
    return {paths_, Orientation::as_stored, bytes};
  }
  static LoaderParams params(std::size_t threads) {
    return {.size = 16, .seed = 7, .threads = threads};
  }

  static std::vector<TrainingBatch> all(Loader& loader, std::size_t count) {
    std::vector<TrainingBatch> batches;
    for (std::size_t k = 0; k < count; ++k) batches.push_back(loader.next());
    return batches;
  }

  const test::TemporaryFolder folder_;
  std::vector<std::string> paths_;
};

const Batches kBatches = {{3, 1, 4}, {1, 5, 9}, {2, 6, 5}, {0, 7, 11}, {8, 10, 3}, {3, 1, 4}};

TEST_F(LoaderOfFiles, GivesTheSameBatchesInOrderWhateverTheThreads) {
  ImageCache images = cache();
  Loader one(images, kBatches, 0, params(1));
  const std::vector<TrainingBatch> expected = all(one, kBatches.size());
  for (std::size_t k = 0; k < kBatches.size(); ++k) {
    EXPECT_EQ(expected[k].indices, kBatches[k]);
    EXPECT_EQ(expected[k].pixels.sizes(), (std::vector<std::int64_t>{3, 3, 16, 16}));
  }
  // The same images in another batch look otherwise.
  EXPECT_FALSE(expected[0].pixels.equal(expected[5].pixels));
  for (const std::size_t threads : {2, 5, 16}) {
    ImageCache none = cache(0);
    Loader many(none, kBatches, 0, params(threads));
    const std::vector<TrainingBatch> batches = all(many, kBatches.size());
    for (std::size_t k = 0; k < kBatches.size(); ++k) {
      EXPECT_EQ(batches[k].indices, kBatches[k]);
      EXPECT_TRUE(batches[k].pixels.equal(expected[k].pixels))
          << threads << " threads, batch " << k;
    }
  }
}

TEST_F(LoaderOfFiles, GoesOnInTheMiddle) {
  ImageCache images = cache();
  Loader whole(images, kBatches, 0, params(2));
  const std::vector<TrainingBatch> expected = all(whole, kBatches.size());
  Loader rest(images, kBatches, 4, params(2));
  EXPECT_TRUE(rest.next().pixels.equal(expected[4].pixels));
  EXPECT_TRUE(rest.next().pixels.equal(expected[5].pixels));
  const Loader nothing(images, kBatches, kBatches.size(), params(2));
}

TEST_F(LoaderOfFiles, ProcessesThatShareABatchSeeTheWhole) {
  ImageCache images = cache();
  Loader whole(images, {{3, 1, 4, 2}}, 0, params(2));
  Loader first(images, {{3, 1}}, 0, params(2));
  LoaderParams of_second = params(2);
  of_second.first_place = 2;
  Loader second(images, {{4, 2}}, 0, of_second);
  EXPECT_TRUE(whole.next().pixels.equal(torch::cat({first.next().pixels, second.next().pixels})));
}

TEST_F(LoaderOfFiles, DecodesAFewBatchesAheadAndNoMore) {
  const Batches one_each = {{0}, {1}, {2}, {3}, {4}};
  for (std::size_t k = 2; k < 5; ++k) remove(k);
  ImageCache images = cache();
  LoaderParams two_ahead = params(4);
  two_ahead.ahead = 2;
  Loader loader(images, one_each, 0, two_ahead);
  std::this_thread::sleep_for(100ms);
  // These have not been read yet.
  for (std::size_t k = 2; k < 5; ++k) put(k);
  EXPECT_EQ(all(loader, 5)[4].indices, one_each[4]);
}

TEST_F(LoaderOfFiles, AFileThatCannotBeReadIsNamedAfterWhatCameBefore) {
  remove(6);
  for (int time = 0; time < 50; ++time) {
    const std::size_t threads = time % 2 == 0 ? 1 : 4;
    ImageCache images = cache();
    Loader loader(images, kBatches, 0, params(threads));
    std::string message;
    std::size_t given = 0;
    try {
      for (; given < kBatches.size(); ++given) loader.next();
    } catch (const Error& error) {
      message = error.what();
    }
    EXPECT_LE(given, 2u);
    EXPECT_EQ(message.find(paths_[6]), 0u) << message;
    EXPECT_THROW(loader.next(), Error);  // and does not wait for ever
  }
}

TEST_F(LoaderOfFiles, SaysWhichImagesWereBadAndHowManyDrawsShowAnother) {
  const std::vector<std::int64_t> labels = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  remove(4);
  remove(6);
  test::write_bytes(paths_[9], "no image");
  // The same one twice, and one whose replacement is bad as well.
  const Batches batches = {{1, 2, 3}, {9, 4, 9}, {0, 6, 1}, {9, 9, 9}};
  for (const std::size_t threads : {1, 4}) {
    ImageCache images = cache();
    LoaderParams with_stand_ins = params(threads);
    with_stand_ins.stand_ins = labels;
    Loader loader(images, batches, 0, with_stand_ins);
    const std::vector<TrainingBatch> found = all(loader, batches.size());
    const auto expect_bad = [&](std::size_t batch, std::size_t replaced,
                                const std::vector<std::size_t>& bad) {
      SCOPED_TRACE(batch);
      EXPECT_EQ(found[batch].replaced, replaced);
      ASSERT_EQ(found[batch].bad.size(), bad.size());
      for (std::size_t k = 0; k < bad.size(); ++k) {
        EXPECT_EQ(found[batch].bad[k].index, bad[k]);
        EXPECT_EQ(found[batch].bad[k].why.find(paths_[bad[k]] + ": "), 0u)
            << found[batch].bad[k].why;
      }
    };
    expect_bad(0, 0, {});
    expect_bad(1, 3, {4, 6, 9});
    expect_bad(2, 1, {6});
    expect_bad(3, 3, {9});
  }
}

TEST_F(LoaderOfFiles, TheNextOfItsClassStandsInForABadImage) {
  const std::vector<std::int64_t> labels = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  const auto pixels_of = [&](std::size_t index) {
    ImageCache images = cache();
    LoaderParams with_stand_ins = params(2);
    with_stand_ins.stand_ins = labels;
    return Loader(images, {{index}}, 0, with_stand_ins).next().pixels;
  };
  const torch::Tensor eighth = pixels_of(8);
  const torch::Tensor first = pixels_of(1);
  remove(4);
  remove(6);
  remove(11);
  EXPECT_TRUE(pixels_of(8).equal(eighth));
  EXPECT_TRUE(pixels_of(4).equal(eighth));  // 6 is bad as well
  EXPECT_TRUE(pixels_of(11).equal(first));  // round the end
  for (std::size_t k = 1; k < kFiles; k += 2) remove(k);
  try {
    pixels_of(3);
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find(paths_[3]), 0u) << error.what();
  }
}

TEST_F(LoaderOfFiles, EndsInTheMiddleAndLeavesTheRest) {
  // Far more than can be decoded meanwhile, and the last file alone at their end.
  Batches many(20'000, kBatches[0]);
  many.push_back({11});
  for (int time = 0; time < 20; ++time) {
    ImageCache images = cache();
    put(11);
    LoaderParams far_ahead = params(4);
    far_ahead.ahead = many.size();
    {
      Loader loader(images, many, 0, far_ahead);
      if (time % 2 == 0) {
        EXPECT_EQ(loader.next().indices, many[0]);
      }
    }
    remove(11);
    EXPECT_THROW(images.get(11), Error) << "it was decoded before the loader ended";
  }
}

TEST_F(LoaderOfFiles, TheCacheKeepsWhatFits) {
  ImageCache images = cache(24 * 20 * 3);
  EXPECT_EQ(images.get(0), images.get(0));
  const auto first = images.get(1);
  const auto second = images.get(1);
  EXPECT_NE(first, second);
  EXPECT_EQ(first->pixels, second->pixels);
  // The file is not read again; the one that did not fit is.
  remove(0);
  EXPECT_EQ(images.get(0)->width, 24u);
  remove(1);
  EXPECT_THROW(images.get(1), Error);
}

}  // namespace
}  // namespace diml::training
