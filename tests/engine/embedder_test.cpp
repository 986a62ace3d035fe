#include "diml/embedder.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/refusal.h"
#include "base/temporary_folder.h"
#include "diml/error.h"
#include "engine/crop_planes.h"
#include "engine/open_network.h"

namespace diml::test {
namespace {

using Floats = std::vector<float>;

Image random_image(std::size_t width, std::size_t height, std::uint64_t seed) {
  Image image{width, height, std::vector<std::uint8_t>(width * height * 3)};
  Random random(seed);
  // Blocks, so that JPEG and smaller sizes keep something of them.
  for (std::size_t y = 0; y < height; y += 8) {
    for (std::size_t x = 0; x < width; x += 8) {
      for (std::size_t c = 0; c < 3; ++c) {
        const auto level = static_cast<std::uint8_t>(random.next() % 256);
        for (std::size_t j = y; j < std::min(y + 8, height); ++j) {
          for (std::size_t i = x; i < std::min(x + 8, width); ++i) image.at(i, j)[c] = level;
        }
      }
    }
  }
  return image;
}

std::vector<Image> random_images(std::size_t count) {
  std::vector<Image> images;
  for (std::size_t i = 0; i < count; ++i) images.push_back(random_image(40 + i, 60 - i % 9, i));
  return images;
}

// Means of squares of `kSquare` pixels, and a fourth channel that is 1: what an embedder makes of
// it can be worked out by hand.
constexpr std::size_t kSquare = 4;
class Means : public Network {
 public:
  const char* name() const override { return "means"; }
  MapShape output_shape(std::size_t height, std::size_t width) override {
    return {4, height / kSquare, width / kSquare};
  }
  void forward(std::span<const float> pixels, std::size_t batch, std::size_t height,
               std::size_t width, std::span<float> maps) override {
    batches.insert(batch);
    const MapShape shape = output_shape(height, width);
    ASSERT_EQ(pixels.size(), batch * 3 * height * width);
    ASSERT_EQ(maps.size(), batch * shape.count());
    std::fill(maps.begin(), maps.end(), 0.0F);
    for (std::size_t p = 0; p < pixels.size(); ++p) {
      const std::size_t x = p % width;
      const std::size_t y = p / width % height;
      const std::size_t c = p / width / height % 3;
      const std::size_t place = (y / kSquare) * shape.width + x / kSquare;
      const std::size_t image = p / (3 * height * width);
      maps[image * shape.count() + place * 4 + c] += pixels[p] / (kSquare * kSquare);
      maps[image * shape.count() + place * 4 + 3] = last_channel;
    }
  }

  bool same_bits(std::size_t few, std::size_t many, std::size_t height,
                 std::size_t width) override {
    return promises || Network::same_bits(few, many, height, width);
  }

  bool promises = false;          // that a map is the same in any batch
  std::set<std::size_t> batches;  // requested sizes
  float last_channel = 1.0F;
};

const Preprocessing kPlain = {.resize = 16,
                              .crop = 16,
                              .channels = ChannelOrder::rgb,
                              .mean = {0.0F, 0.0F, 0.0F},
                              .deviation = {1.0F, 1.0F, 1.0F}};

Embedder means_embedder(EmbeddingParams params = {}) {
  return {std::make_unique<Means>(), kPlain, params};
}

struct Embedded {
  Floats cells;
  Floats globals;
  bool operator==(const Embedded&) const = default;
};

Embedded embedded(Embedder& embedder, std::span<const Image> images) {
  Embedded result{Floats(images.size() * embedder.cells_per_grid() * embedder.dim()),
                  Floats(images.size() * embedder.dim())};
  embedder.embed(images, result.cells, result.globals);
  return result;
}

// The blocks one after the other.
struct FromFiles {
  Embedded grids;
  std::vector<std::size_t> indices;
  std::vector<BadImage> bad;
  std::size_t seen = 0;
};

FromFiles embedded_files(Embedder& embedder, const std::vector<std::string>& paths,
                         Orientation orientation = Orientation::as_stored,
                         BadImages bad = BadImages::stop) {
  FromFiles all;
  embedder.embed_files(paths, {orientation, bad}, [&](const EmbeddedBatch& batch) {
    EXPECT_EQ(batch.first, all.seen);
    all.seen += batch.count;
    EXPECT_EQ(batch.indices.size() + batch.bad.size(), batch.count);
    all.indices.insert(all.indices.end(), batch.indices.begin(), batch.indices.end());
    all.grids.cells.insert(all.grids.cells.end(), batch.cells.begin(), batch.cells.end());
    all.grids.globals.insert(all.grids.globals.end(), batch.globals.begin(), batch.globals.end());
    all.bad.insert(all.bad.end(), batch.bad.begin(), batch.bad.end());
  });
  return all;
}

std::vector<std::string> write_images(const TemporaryFolder& folder,
                                      const std::vector<Image>& images) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::vector<std::uint8_t> bytes = encode_jpeg(images[i], 90);
    paths.push_back(folder / (std::to_string(i) + ".jpg"));
    write_bytes(paths.back(), std::string(bytes.begin(), bytes.end()));
  }
  return paths;
}

void expect_unit(std::span<const float> vectors, std::size_t dim) {
  for (std::size_t v = 0; v < vectors.size(); v += dim) {
    double sum = 0.0;
    for (std::size_t d = 0; d < dim; ++d) sum += double{vectors[v + d]} * vectors[v + d];
    ASSERT_NEAR(sum, 1.0, 1e-5) << v / dim;
  }
}

TEST(Preprocess, SubtractsAndDividesInTheOrderOfTheChannels) {
  const Image image{2, 2, {10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120}};
  Preprocessing how = {.resize = 2,
                       .crop = 2,
                       .channels = ChannelOrder::rgb,
                       .mean = {1.0F, 2.0F, 3.0F},
                       .deviation = {1.0F, 2.0F, 4.0F}};
  Floats pixels(12);
  preprocess(image, how, pixels);
  EXPECT_EQ(pixels, (Floats{9, 39, 69, 99, 9, 24, 39, 54, 6.75, 14.25, 21.75, 29.25}));
  how.channels = ChannelOrder::bgr;  // the mean of the first channel is now that of blue
  preprocess(image, how, pixels);
  EXPECT_EQ(pixels, (Floats{29, 59, 89, 119, 9, 24, 39, 54, 1.75, 9.25, 16.75, 24.25}));
}

TEST(Preprocess, TakesTheMiddleOfTheShortSide) {
  Image wide{6, 4, std::vector<std::uint8_t>(72)};
  for (std::size_t p = 0; p < 24; ++p) wide.pixels[3 * p] = static_cast<std::uint8_t>(p);
  Preprocessing how = kPlain;
  how.resize = 4;
  how.crop = 2;
  Floats pixels(12);
  preprocess(wide, how, pixels);
  EXPECT_EQ(Floats(pixels.begin(), pixels.begin() + 4), (Floats{8, 9, 14, 15}));
}

TEST(Preprocess, MakesEveryShapeTheSameSize) {
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 300}, {300, 1}, {17, 16}, {500, 333}}) {
    const Image image{static_cast<std::size_t>(width), static_cast<std::size_t>(height),
                      std::vector<std::uint8_t>(static_cast<std::size_t>(3 * width * height), 7)};
    Floats pixels(3 * 16 * 16);
    preprocess(image, kPlain, pixels);
    EXPECT_EQ(pixels, Floats(pixels.size(), 7.0F)) << width << " x " << height;
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

TEST(Embedders, ShowEachImageThatCanBeReadOnceAndWhole) {
  const TemporaryFolder folder;
  const std::vector<Image> images = random_images(71);
  const std::vector<std::string> paths = write_images(folder, images);
  write_bytes(paths[40], "");
  Embedder embedder = means_embedder();
  std::vector<int> seen(paths.size());
  const auto sink = [&](const EmbeddedBatch& batch) {
    for (const std::size_t index : batch.indices) EXPECT_EQ(seen[index], 1) << "seen too late";
  };
  embedder.embed_files(paths, {.bad = BadImages::skip}, sink, {},
                       [&](std::size_t index, const Image& whole) {
                         ++seen[index];
                         EXPECT_EQ(whole.width, images[index].width);
                         EXPECT_EQ(whole.height, images[index].height);
                       });
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i == 40 ? 0 : 1) << i;
}

TEST(Embedders, CallAnImageBadThatCouldNotBeShown) {
  const TemporaryFolder folder;
  const std::vector<std::string> paths = write_images(folder, random_images(3));
  Embedder embedder = means_embedder();
  std::vector<std::string> bad;
  const auto sink = [&](const EmbeddedBatch& batch) {
    EXPECT_EQ(batch.indices, (std::vector<std::size_t>{0, 2}));
    for (const BadImage& one : batch.bad) bad.push_back(one.why);
  };
  embedder.embed_files(paths, {.bad = BadImages::skip}, sink, {},
                       [&](std::size_t index, const Image&) {
                         if (index == 1) throw Error("has no parts");
                       });
  EXPECT_EQ(bad, (std::vector<std::string>{"has no parts"}));
}

TEST(Embedders, GiveFilesWhatTheirPicturesGet) {
  const TemporaryFolder folder;
  const std::vector<std::string> paths = write_images(folder, random_images(71));
  std::vector<Image> images;
  for (const std::string& path : paths) images.push_back(read_image(path));
  for (const std::size_t batch : {1U, 8U, 50U}) {
    Embedder embedder = means_embedder({.batch = batch});
    const FromFiles files = embedded_files(embedder, paths);
    EXPECT_EQ(files.grids, embedded(embedder, images)) << batch;
    EXPECT_EQ(files.seen, 71U);
    EXPECT_TRUE(files.bad.empty());
  }
}

TEST(Embedders, LeaveOutExactlyTheBadImagesAndNameThem) {
  const TemporaryFolder folder;
  std::vector<std::string> paths = write_images(folder, random_images(110));
  const auto is_bad = [](std::size_t i) {  // first, last, some, and one stretch to its end
    return i == 0 || i == 17 || i == 18 || (i >= 32 && i < 64) || i == 70 || i == 109;
  };
  std::vector<std::string> good;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!is_bad(i)) good.push_back(paths[i]);
    if (is_bad(i)) write_bytes(paths[i], i % 2 == 0 ? "" : bytes_of(good.back()).substr(0, 300));
  }
  std::filesystem::remove(paths[70]);
  Embedder embedder = means_embedder();
  const FromFiles files = embedded_files(embedder, paths, Orientation::as_stored, BadImages::skip);
  EXPECT_EQ(files.grids, embedded_files(embedder, good).grids);
  std::size_t kept = 0;
  std::size_t bad = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!is_bad(i)) {
      EXPECT_EQ(files.indices.at(kept++), i);
      continue;
    }
    EXPECT_EQ(files.bad.at(bad).index, i);
    EXPECT_EQ(files.bad.at(bad++).why.find(paths[i] + ": "), 0U);
  }
  EXPECT_EQ(kept, files.indices.size());
  EXPECT_EQ(bad, files.bad.size());
}

TEST(Embedders, StopAtTheFirstBadImageByName) {
  const TemporaryFolder folder;
  const std::vector<std::string> paths = write_images(folder, random_images(60));
  for (const std::size_t bad : {59U, 45U, 41U}) {
    write_bytes(paths[bad], "");
    Embedder embedder = means_embedder();
    std::size_t seen = 0;
    EXPECT_EQ(message_of([&] {
                embedder.embed_files(paths, {},
                                     [&](const EmbeddedBatch& batch) { seen += batch.count; });
              }),
              paths[bad] + ": is empty");
    EXPECT_EQ(seen, bad);  // earlier images are not lost
  }
}

TEST(Embedders, StopWhenTheyAreTold) {
  const TemporaryFolder folder;
  const std::vector<std::string> paths = write_images(folder, random_images(70));
  Embedder embedder = means_embedder();
  std::size_t calls = 0;
  const Progress until_two([&](std::size_t, std::size_t total) { EXPECT_EQ(total, 70U); },
                           [&] { return calls >= 2; });
  expect_refused(
      [&] {
        embedder.embed_files(
            paths, {}, [&](const EmbeddedBatch&) { ++calls; }, until_two);
      },
      "cancelled", ErrorKind::cancelled);
  EXPECT_EQ(calls, 2U);
}

// The camera was held upright: the stored image is rotated.
TEST(Embedders, TurnPhotosAsTheirTagSaysWhereThatIsWanted) {
  const std::vector<std::string> turned = {std::string(DIML_IMAGES) + "/orientation_6.jpg"};
  const Image stored = read_image(turned[0]);
  const Image upright = read_image(turned[0], {.orientation = Orientation::exif});
  ASSERT_EQ(stored.width, upright.height);
  ASSERT_NE(stored.pixels, upright.pixels);
  Embedder embedder = means_embedder();
  EXPECT_EQ(embedded_files(embedder, turned, Orientation::as_stored).grids,
            embedded(embedder, {{stored}}));
  EXPECT_EQ(embedded_files(embedder, turned, Orientation::exif).grids,
            embedded(embedder, {{upright}}));
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
