// From files to grids: batches, bad files, cancelling.

#include <filesystem>

#include <gtest/gtest.h>

#include "base/refusal.h"
#include "base/temporary_folder.h"
#include "diml/error.h"
#include "engine/means_embedder.h"

namespace diml::test {
namespace {

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

TEST(EmbedFiles, ShowEachImageThatCanBeReadOnceAndWhole) {
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

TEST(EmbedFiles, CallAnImageBadThatCouldNotBeShown) {
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

TEST(EmbedFiles, GiveFilesWhatTheirPicturesGet) {
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

TEST(EmbedFiles, LeaveOutExactlyTheBadImagesAndNameThem) {
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

TEST(EmbedFiles, StopAtTheFirstBadImageByName) {
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

TEST(EmbedFiles, StopWhenTheyAreTold) {
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
TEST(EmbedFiles, TurnPhotosAsTheirTagSaysWhereThatIsWanted) {
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

}  // namespace
}  // namespace diml::test
