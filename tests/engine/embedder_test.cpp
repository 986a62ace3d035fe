// From pictures to grids.

#include "diml/embedder.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/refusal.h"
#include "base/temporary_folder.h"
#include "diml/error.h"
#include "engine/crop_planes.h"
#include "engine/means_embedder.h"
#include "engine/open_network.h"

namespace diml::test {
namespace {

void expect_unit(std::span<const float> vectors, std::size_t dim) {
  for (std::size_t v = 0; v < vectors.size(); v += dim) {
    double sum = 0.0;
    for (std::size_t d = 0; d < dim; ++d) sum += double{vectors[v + d]} * vectors[v + d];
    ASSERT_NEAR(sum, 1.0, 1e-5) << v / dim;
  }
}

TEST(Embedders, MakeUnitCellsOfTheMapAndAUnitGlobalOfItsMean) {
  Embedder embedder = means_embedder({.grid = 2});
  EXPECT_EQ(embedder.dim(), 4U);
  EXPECT_EQ(embedder.cells_per_grid(), 4U);
  Image image{16, 16, std::vector<std::uint8_t>(3 * 16 * 16)};  // black, the upper left red
  for (std::size_t y = 0; y < 8; ++y) {
    for (std::size_t x = 0; x < 8; ++x) image.at(x, y)[0] = 2;
  }
  const Embedded result = embedded(embedder, {{image}});
  const float five = std::sqrt(5.0F);
  const Floats cells = {2 / five, 0, 0, 1 / five, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  for (std::size_t k = 0; k < cells.size(); ++k) EXPECT_NEAR(result.cells[k], cells[k], 1e-6) << k;
  const float mean = std::sqrt(0.25F + 1.0F);  // half of one red and one whole
  const Floats global = {0.5F / mean, 0, 0, 1 / mean};
  for (std::size_t d = 0; d < 4; ++d) EXPECT_NEAR(result.globals[d], global[d], 1e-6) << d;
}

TEST(Embedders, RunFullBatchesOnlyWhereANetworkPromisesNothing) {
  auto network = std::make_unique<Means>();
  const Means& means = *network;
  Embedder embedder(std::move(network), kPlain, {.batch = 5});
  for (const std::size_t count : {1U, 5U, 13U, 70U}) embedded(embedder, random_images(count));
  EXPECT_EQ(means.batches, std::set<std::size_t>{5});
}

TEST(Embedders, RunFewImagesAsFewWhereTheirGridsAreTheSameThen) {
  auto network = std::make_unique<Means>();
  Means& means = *network;
  means.promises = true;
  Embedder embedder(std::move(network), kPlain, {.batch = 6});
  const auto batches_of = [&](std::size_t count) {
    means.batches.clear();
    embedded(embedder, random_images(count));
    return means.batches;
  };
  using Sizes = std::set<std::size_t>;
  EXPECT_EQ(batches_of(1), (Sizes{1}));
  EXPECT_EQ(batches_of(5), (Sizes{4, 1}));
  EXPECT_EQ(batches_of(6), (Sizes{6}));
  EXPECT_EQ(batches_of(13), (Sizes{6, 1}));
  Embedder plain = means_embedder({.batch = 6});
  for (const std::size_t count : {1U, 5U, 13U}) {
    EXPECT_EQ(embedded(embedder, random_images(count)), embedded(plain, random_images(count)));
  }
}

TEST(Embedders, GiveACropWhatItsImageGets) {
  Embedder embedder = means_embedder();
  const std::vector<Image> images = random_images(35);
  std::vector<Crop> crops;
  for (const Image& image : images) crops.push_back(embedder.crop(image));
  Embedded result{Floats(35 * embedder.cells_per_grid() * embedder.dim()),
                  Floats(35 * embedder.dim())};
  embedder.embed(crops, result.cells, result.globals);
  EXPECT_EQ(result, embedded(embedder, images));
  const GridSet as_set = embedder.embed(crops);
  const GridSet of_images = embedder.embed(images);
  for (std::size_t i = 0; i < 35; ++i) {
    for (std::size_t d = 0; d < embedder.dim(); ++d) {
      ASSERT_EQ(as_set[i].global[d], of_images[i].global[d]);
      ASSERT_NEAR(as_set[i].global[d], result.globals[i * embedder.dim() + d], 1e-6);
    }
  }
  crops[3].planes.pop_back();
  EXPECT_NE(message_of([&] { embedder.embed(crops); }).find("another size"), std::string::npos);
}

TEST(Embedders, RefuseWhatMakesNoSense) {
  const auto made = [](EmbeddingParams params, Preprocessing how = kPlain) {
    return message_of([&] { Embedder(std::make_unique<Means>(), how, params); });
  };
  EXPECT_NE(made({.grid = 0}).find("cells"), std::string::npos);
  EXPECT_NE(made({.grid = 15}).find("cells"), std::string::npos);
  Preprocessing larger = kPlain;
  larger.crop = 20;
  EXPECT_NE(made({}, larger).find("does not fit"), std::string::npos);
  Embedder embedder = means_embedder();
  Floats few(4);
  EXPECT_EQ(message_of([&] { embedder.embed(random_images(1), few, few); }),
            "the embedder was given arrays of the wrong size");
}

TEST(Embedders, RefuseNetworksThatGiveNoNumbers) {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    auto network = std::make_unique<Means>();
    network->last_channel = value;
    Embedder embedder(std::move(network), kPlain, {});
    EXPECT_NE(message_of([&] {
                embedded(embedder, random_images(3));
              }).find("the network gives NaN or infinity"),
              std::string::npos);
  }
}

class RealNetworks : public testing::TestWithParam<NetworkBackend> {
 protected:
  RealNetworks() {
    save_model(folder_ / "small.safetensors", make_model("small", StridePlace::in_3x3, 24, 3));
  }
  EmbeddingParams params(std::size_t batch = 4) const {
    return {.model = folder_ / "small.safetensors",
            .backend = GetParam(),
            .batch = batch,
            .threads = 2};
  }
  Embedder embedder(std::size_t batch = 4) const { return open_embedder(params(batch)); }

  const TemporaryFolder folder_;
};

// Batches of 8, 4, 2 and 1, and every image in several of them.
TEST_P(RealNetworks, EmbedAnImageTheSameWhateverIsEmbeddedWithIt) {
  Embedder embedder = this->embedder(8);
  const std::vector<Image> images = random_images(15);
  const Embedded all = embedded(embedder, images);
  expect_unit(all.cells, embedder.dim());
  expect_unit(all.globals, embedder.dim());
  const std::size_t of_grid = embedder.cells_per_grid() * embedder.dim();
  const auto expect_grid = [&](std::size_t image, const Embedded& other, std::size_t place) {
    EXPECT_TRUE(std::equal(&other.cells[place * of_grid], &other.cells[place * of_grid] + of_grid,
                           &all.cells[image * of_grid]))
        << image;
    EXPECT_TRUE(std::equal(&other.globals[place * embedder.dim()],
                           &other.globals[place * embedder.dim()] + embedder.dim(),
                           &all.globals[image * embedder.dim()]))
        << image;
  };
  const std::vector<Image> backwards(images.rbegin(), images.rend());
  const Embedded turned = embedded(embedder, backwards);
  for (std::size_t i = 0; i < images.size(); ++i) {
    expect_grid(i, turned, images.size() - 1 - i);
    expect_grid(i, embedded(embedder, {&images[i], 1}), 0);
  }
}

TEST_P(RealNetworks, GiveTheNormalisedMeanOfTheProjectedMap) {
  const Image image = random_image(130, 150, 1);
  Embedder embedder = this->embedder(1);
  const Embedded result = embedded(embedder, {&image, 1});
  OpenedNetwork opened = open_network(params());
  const std::size_t size = opened.preprocessing.crop;
  const MapShape shape = opened.network->output_shape(size, size);
  ASSERT_EQ(shape.channels, 24U);
  Floats pixels(3 * size * size);
  preprocess(image, opened.preprocessing, pixels);
  Floats map(shape.count());
  opened.network->forward(pixels, 1, size, size, map);
  std::vector<double> mean(24);
  for (std::size_t k = 0; k < map.size(); ++k) mean[k % 24] += map[k];
  double norm = 0.0;
  for (const double m : mean) norm += m * m;
  for (std::size_t d = 0; d < 24; ++d) {
    EXPECT_NEAR(result.globals[d], mean[d] / std::sqrt(norm), 1e-5) << d;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, RealNetworks, testing::ValuesIn(network_backends()),
                         [](const auto& instance) { return name_of(instance.param); });

}  // namespace
}  // namespace diml::test
