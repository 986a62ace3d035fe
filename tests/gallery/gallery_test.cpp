#include "diml/gallery.h"
#include "base/float16.h"

#include <cstring>
#include <numeric>
#include <thread>

#include "gallery/gallery_folder.h"

namespace diml::test {
namespace {

class GalleryTest : public GalleryFolder {};

class GalleryOfFloat16 : public GalleryFolder {
 protected:
  GalleryOfFloat16() : GalleryFolder(CellType::float16) {}
};

class GalleryOfInt8 : public GalleryFolder {
 protected:
  GalleryOfInt8() : GalleryFolder(CellType::int8) {}
};

std::vector<std::int64_t> range(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

void expect_equal_grids(GridSetView stored, GridSetView wanted) {
  ASSERT_EQ(stored.size, wanted.size);
  ASSERT_EQ(stored.type, wanted.type);
  const std::size_t bytes = bytes_of_grid(wanted.type, wanted.cells_per_grid, wanted.dim);
  for (std::size_t i = 0; i < wanted.size; ++i) {
    EXPECT_EQ(std::memcmp(stored[i].cells, wanted[i].cells, bytes), 0);
    EXPECT_EQ(std::memcmp(stored[i].global, wanted[i].global, wanted.dim * sizeof(float)), 0);
  }
}

TEST_F(GalleryTest, GivesBackWhatWasAddedAfterReopening) {
  {
    const std::shared_ptr<GridStore> gallery = create_gallery(folder_ / "g", format());
    EXPECT_EQ(add(*gallery, 0, 40), range(0, 40));
    EXPECT_EQ(add(*gallery, 40, 20), range(40, 20));
  }
  const std::shared_ptr<GridStore> gallery = open_gallery(folder_ / "g");
  EXPECT_EQ(gallery->format().cells_per_grid, 9u);
  EXPECT_EQ(gallery->format().dim, kDim);
  EXPECT_EQ(gallery->format().embedding, format().embedding);
  EXPECT_EQ(gallery->format().model, format().model);
  const std::unique_ptr<GridSnapshot> snapshot = gallery->snapshot();
  EXPECT_EQ(snapshot->size(), kImages);
  EXPECT_EQ(snapshot->revision(), 2u);
  const std::vector<std::int64_t> ids = snapshot->ids();
  EXPECT_EQ(ids, range(0, kImages));
  for (std::size_t i = 0; i < kImages; ++i) {
    const NewItem wanted = items(i, 1)[0];
    const Item item = snapshot->item(ids[i]);
    EXPECT_EQ(item.path, wanted.path);
    EXPECT_EQ(item.label, wanted.label);
    EXPECT_EQ(item.metadata, "{\"number\":" + std::to_string(i) + "}");
    EXPECT_EQ(snapshot->thumbnail(ids[i]), wanted.thumbnail);
    EXPECT_EQ(snapshot->find(wanted.path), ids[i]);
  }
  EXPECT_FALSE(snapshot->find("images/60.jpg").has_value());
  const std::vector<GridView> stored = snapshot->grids(ids);
  expect_equal_grids(set_of(stored), generated_.grids.view());
  const StoredVectors vectors = snapshot->vectors();
  EXPECT_EQ(vectors.ids, ids);
  EXPECT_EQ(std::memcmp(vectors.globals.data(), generated_.grids.view().globals,
                        kImages * kDim * sizeof(float)),
            0);
}

TEST_F(GalleryOfInt8, KeepsIntegersAndScalesBitForBitAndIsSound) {
  (void)filled();
  const std::shared_ptr<GridStore> gallery = open_gallery(folder_ / "g");
  EXPECT_EQ(gallery->format().type, CellType::int8);
  const std::unique_ptr<GridSnapshot> snapshot = gallery->snapshot();
  const std::vector<GridView> stored = snapshot->grids(snapshot->ids());
  expect_equal_grids(set_of(stored), generated_.grids.view());
  EXPECT_EQ(gallery->verify().faults, std::vector<std::string>());
}

TEST_F(GalleryOfFloat16, KeepsCellsBitForBit) {
  const std::shared_ptr<GridStore> gallery = filled();
  const std::unique_ptr<GridSnapshot> snapshot = gallery->snapshot();
  const std::vector<GridView> stored = snapshot->grids(snapshot->ids());
  expect_equal_grids(set_of(stored), generated_.grids.view());
}

TEST_F(GalleryTest, ASnapshotStaysAsItWas) {
  const std::shared_ptr<GridStore> gallery = create_gallery(folder_ / "g", format());
  add(*gallery, 0, 30);
  const std::unique_ptr<GridSnapshot> before = gallery->snapshot();
  add(*gallery, 30, 30);
  const std::vector<std::int64_t> removed = {0, 7, 29};
  gallery->remove(removed);
  EXPECT_EQ(before->ids(), range(0, 30));
  EXPECT_EQ(before->item(7).path, "images/7.jpg");
  EXPECT_EQ(std::memcmp(before->grid(7).cells, some(7, 1).cells, 9 * kDim * sizeof(float)), 0);
  EXPECT_EQ(before->revision(), 1u);

  const std::unique_ptr<GridSnapshot> after = gallery->snapshot();
  EXPECT_EQ(after->size(), 57u);
  EXPECT_FALSE(after->contains(7));
  EXPECT_FALSE(after->find("images/7.jpg").has_value());
  EXPECT_EQ(after->revision(), 3u);
}

TEST_F(GalleryTest, IdsAreNeverGivenTwice) {
  const std::shared_ptr<GridStore> gallery = create_gallery(folder_ / "g", format());
  add(*gallery, 0, 3);
  const std::vector<std::int64_t> last = {2};
  gallery->remove(last);
  EXPECT_EQ(add(*gallery, 2, 1), range(3, 1));
  EXPECT_EQ(gallery->snapshot()->find("images/2.jpg"), 3);
}

TEST_F(GalleryTest, APathIsThereOnce) {
  const std::shared_ptr<GridStore> gallery = create_gallery(folder_ / "g", format());
  add(*gallery, 0, 3);
  expect_refused([&] { add(*gallery, 2, 3); },
                 "images/2.jpg: is in the gallery already: replace it", ErrorKind::conflict);
  EXPECT_EQ(gallery->snapshot()->size(), 3u);
  // The same path twice in one call is refused, too.
  std::vector<NewItem> same = items(5, 2);
  same[1].path = same[0].path;
  expect_refused([&] { gallery->add(same, some(5, 2)); }, "images/5.jpg");
  EXPECT_EQ(gallery->snapshot()->size(), 3u);
  EXPECT_EQ(gallery->snapshot()->revision(), 1u);

  EXPECT_EQ(add(*gallery, 2, 3, Duplicates::replace), range(3, 3));
  const std::unique_ptr<GridSnapshot> snapshot = gallery->snapshot();
  EXPECT_EQ(snapshot->ids(), (std::vector<std::int64_t>{0, 1, 3, 4, 5}));
  EXPECT_EQ(snapshot->find("images/2.jpg"), 3);
  EXPECT_TRUE(snapshot->verify().faults.empty());
}

TEST_F(GalleryTest, ALongPathIsAsGoodAsAnother) {
  const std::shared_ptr<GridStore> gallery = create_gallery(folder_ / "g", format());
  std::vector<NewItem> one = items(0, 1);
  one[0].path = std::string(5000, 'x');
  one[0].path += ".jpg";  // g++ 12 warns of a sum of the two
  gallery->add(one, some(0, 1));
  EXPECT_EQ(gallery->snapshot()->find(one[0].path), 0);
  EXPECT_EQ(gallery->snapshot()->item(0).path, one[0].path);
}

TEST_F(GalleryTest, RemovesAllOrNothing) {
  const std::shared_ptr<GridStore> gallery = filled();
  const std::vector<std::int64_t> wrong = {3, 60};
  expect_refused([&] { gallery->remove(wrong); }, "has no item 60: nothing was removed",
                 ErrorKind::not_found);
  EXPECT_EQ(gallery->snapshot()->size(), kImages);
}

TEST_F(GalleryTest, RefusesWhatDoesNotFit) {
  const std::shared_ptr<GridStore> gallery = filled();
  expect_refused([&] { (void)gallery->snapshot()->item(77); }, "has no item 77");
  GeneratedGrids others = generate_grids({.size = 1, .classes = 1, .grid = 4, .dim = kDim});
  expect_refused([&] { gallery->add(items(0, 1), others.grids.view()); },
                 "grids of 3 x 3 x 24, what is added of 4 x 4 x 24: embed it with grid 3");
  others = generate_grids(
      {.size = 1, .classes = 1, .grid = 3, .dim = kDim, .seed = 0, .type = CellType::float16});
  expect_refused([&] { gallery->add(items(0, 1), others.grids.view()); }, "float32 cells");
  std::vector<NewItem> one = {{.path = "new.jpg", .metadata = "[1, 2]"}};
  expect_refused([&] { gallery->add(one, some(0, 1)); },
                 "new.jpg: its metadata is not a JSON object");
  one[0].metadata = "{\"a\": ";
  expect_refused([&] { gallery->add(one, some(0, 1)); }, "not a JSON object");
}

TEST_F(GalleryTest, KnowsAnotherModelAndOtherSettings) {
  GridFormat other = format();
  expect_same_embedding(format(), other, "the query");
  other.model = "elsewhere/small.safetensors";  // the same model in another place
  expect_same_embedding(format(), other, "the query");
  other.embedding["sha256"] = "fedcba9876543210";
  expect_refused([&] { expect_same_embedding(format(), other, "the query"); },
                 "by a model with SHA-256 0123456789ab, the query by a model with SHA-256 "
                 "fedcba987654: take the gallery's own model (it was "
                 "somewhere/small.safetensors)");
  other = format();
  other.embedding["pooling"] = "roi_align";
  expect_refused([&] { expect_same_embedding(format(), other, "the query"); },
                 "embedded with pooling align, the query with pooling roi_align");
  other = format();
  other.embedding.clear();
  expect_refused([&] { expect_same_embedding(format(), other, "the query"); }, "an unknown model");
}

TEST_F(GalleryTest, RefusesFoldersThatAreNoGallery) {
  expect_refused([&] { open_gallery(folder_ / "g"); }, "there is no gallery: create one",
                 ErrorKind::not_found);
  filled();
  expect_refused([&] { create_gallery(folder_ / "g", format()); }, "is already a gallery: open it",
                 ErrorKind::conflict);
  std::filesystem::create_directory(folder_ / "other");
  write_bytes(folder_ / "other/file", "text");
  expect_refused([&] { create_gallery(folder_ / "other", format()); }, "is not a gallery");
  write_bytes(folder_ / "other/data.mdb", std::string(20000, 'x'));
  expect_refused([&] { open_gallery(folder_ / "other"); },
                 "is not a gallery of this version of diml", ErrorKind::damaged);
  std::filesystem::create_directory(folder_ / "empty");
  create_gallery(folder_ / "empty", format());  // nothing is lost there
}

TEST_F(GalleryTest, AReaderOfAProcessDoesNotWrite) {
  filled();
  const std::shared_ptr<GridStore> reader = open_gallery(folder_ / "g");
  expect_refused([&] { add(*reader, 0, 1); }, "reading only");
  expect_refused([&] { open_gallery(folder_ / "g", StoreAccess::write); }, "for reading only");
}

TEST_F(GalleryTest, OneProcessMayOpenItTwice) {
  const std::shared_ptr<GridStore> writer = filled();
  const std::shared_ptr<GridStore> reader = open_gallery(folder_ / "g");
  const std::vector<std::int64_t> first = {0};
  writer->remove(first);
  EXPECT_EQ(reader->snapshot()->size(), kImages - 1);
}

TEST_F(GalleryTest, ManyThreadsReadWhileOneWrites) {
  const std::shared_ptr<GridStore> gallery = create_gallery(folder_ / "g", format());
  add(*gallery, 0, 10);
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::atomic<int> reads = 0;
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r) {
    readers.emplace_back([&] {
      while (!done) {
        const std::unique_ptr<GridSnapshot> snapshot = gallery->snapshot();
        const std::vector<std::int64_t> ids = snapshot->ids();
        if (ids.size() != snapshot->size() || ids.size() % 10 != 0) ++wrong;
        const std::vector<GridView> grids = snapshot->grids(ids);
        for (std::size_t k = 0; k < ids.size(); ++k) {
          const auto number = static_cast<std::size_t>(ids[k]) % kImages;
          if (std::memcmp(grids[k].cells, some(number, 1).cells, 9 * kDim * sizeof(float))) {
            ++wrong;
          }
        }
        ++reads;
      }
    });
  }
  for (std::size_t round = 0; round < 30 || reads < 30; ++round) {
    const std::size_t first = (10 * (round + 1)) % kImages;
    // The item of id n holds grid n % kImages.
    add(*gallery, first, 10, Duplicates::replace);
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(gallery->snapshot()->verify().faults.empty());
}

TEST_F(GalleryTest, SpaceOfWhatIsRemovedIsUsedAgain) {
  const std::shared_ptr<GridStore> gallery = filled();
  const std::uint64_t before = gallery->space().used;
  for (int round = 0; round < 20; ++round) add(*gallery, 0, kImages, Duplicates::replace);
  EXPECT_LT(gallery->space().used, 4 * before);
  EXPECT_GT(gallery->space().free, 0u);
}

}  // namespace
}  // namespace diml::test
