#include "engine/projection.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/refusal.h"
#include "base/temporary_folder.h"
#include "engine/open_network.h"

namespace diml::test {
namespace {

using Floats = std::vector<float>;

constexpr std::size_t kChannels = 128;  // of the small network
constexpr std::size_t kGrid = 3;

Model small_model() {
  Model model = make_model("small", StridePlace::in_3x3, 0, 1);
  model.preprocessing.resize = 72;
  model.preprocessing.crop = 64;
  model.provenance = "a test";
  return model;
}

Embedder embedder_of(const Model& model, std::size_t grid = kGrid) {
  return {make_network(model, {}), model.preprocessing, {.grid = grid}};
}

class Projections : public testing::Test {
 protected:
  Projections() {
    Random random(4);
    for (std::size_t i = 0; i < kPhotos; ++i) {
      Image image{80, 70, std::vector<std::uint8_t>(std::size_t{80} * 70 * 3)};
      for (std::size_t p = 0; p < image.pixels.size(); ++p) {
        const auto noise = static_cast<std::uint8_t>(random.next() % 64);
        image.pixels[p] = static_cast<std::uint8_t>(noise + 16 * (i % 7) + p / 30 % 80);
      }
      const std::vector<std::uint8_t> bytes = encode_jpeg(image, 90);
      paths_.push_back(folder_ / (std::to_string(i) + ".jpg"));
      write_bytes(paths_.back(), std::string(bytes.begin(), bytes.end()));
    }
  }

  // All cells of all photos, or of the photos of `paths`.
  static Floats all_cells(const std::vector<std::string>& paths) {
    Embedder embedder = embedder_of(small_model());
    Floats cells;
    embedder.embed_files(paths, {}, [&](const EmbeddedBatch& batch) {
      cells.insert(cells.end(), batch.cells.begin(), batch.cells.end());
    });
    return cells;
  }

  PcaOfPhotos pca(const PcaParams& params) const {
    Embedder embedder = embedder_of(small_model());
    return pca_of_photos(embedder, paths_, params);
  }

  static constexpr std::size_t kPhotos = 40;
  const TemporaryFolder folder_;
  std::vector<std::string> paths_;
};

TEST_F(Projections, ByPcaAreThePrincipalDirectionsOfAllCellsWhereTheyAreFew) {
  const PcaOfPhotos found = pca({.dim = 8});
  EXPECT_EQ(found.photos, kPhotos);
  EXPECT_EQ(found.cells, kPhotos * kGrid * kGrid);
  SecondMoment moment(kChannels);
  moment.add(all_cells(paths_));
  const PrincipalDirections expected = principal_directions(moment, {.count = 8});
  EXPECT_NEAR(found.directions.kept, expected.kept, 1e-6);
  EXPECT_EQ(found.directions.count(), 8u);
}

TEST_F(Projections, ByPcaLookAtASampleThatTheSeedDraws) {
  const PcaOfPhotos one = pca({.dim = 8, .cells = 130});
  EXPECT_EQ(one.cells, 130u);
  EXPECT_EQ(one.photos, kPhotos);
  EXPECT_EQ(pca({.dim = 8, .cells = 130, .threads = 1}).directions.rows, one.directions.rows);
  EXPECT_NE(pca({.dim = 8, .cells = 130, .seed = 1}).directions.rows, one.directions.rows);
  const PcaOfPhotos few = pca({.dim = 8, .cells = 25});  // fewer than photos: a cell of each
  EXPECT_EQ(few.cells, 25u);
  EXPECT_EQ(few.photos, 25u);
}

TEST_F(Projections, ByPcaLeaveOutPhotosThatCannotBeRead) {
  write_bytes(paths_[3], "no photo");
  expect_refused([&] { pca({.dim = 8, .cells = 130}); }, "3.jpg");
  const PcaOfPhotos found = pca({.dim = 8, .cells = 130, .bad = BadImages::skip});
  EXPECT_EQ(found.photos, kPhotos - 1);
  EXPECT_LT(found.cells, 130u);
  ASSERT_EQ(found.bad.size(), 1u);
  EXPECT_NE(found.bad[0].find("3.jpg"), std::string::npos);
  for (const std::string& path : paths_) write_bytes(path, "no photo");
  expect_refused([&] { pca({.dim = 8, .bad = BadImages::skip}); }, "none of the photos");
}

TEST_F(Projections, ByPcaNeedEnoughOfEverything) {
  expect_refused([&] { pca({.dim = 129}); }, "128 channels");
  expect_refused([&] { pca({.dim = 0}); }, "not 0");
  expect_refused([&] { pca({.dim = 100, .cells = 99}); }, "99 cells");
  paths_.resize(2);
  expect_refused([&] { pca({.dim = 19}); }, "18 cells of 2 photos");
}

TEST_F(Projections, ByPcaKeepTheCosinesOfCells) {
  const PcaOfPhotos found = pca({.dim = 64});
  const Model model = projected(small_model(), found);
  ASSERT_TRUE(model.has_projection());
  EXPECT_EQ(model.output_channels(), 64u);
  EXPECT_EQ(model.tensors.at("projection.bias").floats(), Floats(64, 0.0F));
  Embedder embedder = embedder_of(model);
  ASSERT_EQ(embedder.dim(), 64u);
  Floats cells;
  embedder.embed_files(paths_, {}, [&](const EmbeddedBatch& batch) {
    cells.insert(cells.end(), batch.cells.begin(), batch.cells.end());
  });
  const Floats before = all_cells(paths_);
  const auto cosine = [](const Floats& all, std::size_t dim, std::size_t i, std::size_t j) {
    double sum = 0.0;
    for (std::size_t d = 0; d < dim; ++d) {
      sum += static_cast<double>(all[i * dim + d]) * all[j * dim + d];
    }
    return sum;
  };
  const double lost = 1.0 - found.directions.kept;
  EXPECT_LT(lost, 0.02);
  double off = 0.0;
  for (std::size_t i = 0; i < 100; ++i) {
    off += std::abs(cosine(cells, 64, i, 200) - cosine(before, kChannels, i, 200)) / 100.0;
  }
  EXPECT_LT(off, 2.0 * lost + 1e-4);
}

TEST_F(Projections, TellWhereTheyComeFromAndKeepTheRest) {
  const Model start = small_model();
  Model model = projected(start, pca({.dim = 4, .cells = 130}));
  EXPECT_EQ(model.provenance.find("a test; projection: PCA of 130 cells of 40 photos, keeps "), 0u)
      << model.provenance;
  EXPECT_EQ(to_text(model.preprocessing), to_text(start.preprocessing));
  EXPECT_EQ(model.tensors.size(), start.tensors.size() + 2);
  model = randomly_projected(std::move(model), 6, 9);
  EXPECT_EQ(model.provenance, "a test; projection: random, seed 9");
  EXPECT_EQ(model.output_channels(), 6u);
}

TEST_F(Projections, OfAnotherNetworkAreRefused) {
  const PcaOfPhotos found = pca({.dim = 4});
  const Model other = make_model("resnet18", StridePlace::in_3x3, 0, 0);
  expect_refused([&] { projected(other, found); }, "512 channels");
}

}  // namespace
}  // namespace diml::test
