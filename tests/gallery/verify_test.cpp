// A byte of the file changes, and verify() names the damaged item.

#include <cstring>

#include "gallery/gallery_folder.h"

namespace diml::test {
namespace {

class Verify : public GalleryFolder {
 protected:
  // Changes one bit of every copy of `what` in the file, which also holds pages of earlier states.
  void damage(const std::string& what) const {
    const std::string path = folder_ / "g/data.mdb";
    std::string bytes = bytes_of(path);
    std::size_t at = bytes.find(what);
    ASSERT_NE(at, std::string::npos);
    for (; at != std::string::npos; at = bytes.find(what, at + 1)) {
      bytes[at + what.size() / 2] = static_cast<char>(bytes[at + what.size() / 2] ^ 4);
    }
    write_bytes(path, bytes);
  }

  static std::string as_text(const void* data, std::size_t bytes) {
    return {static_cast<const char*>(data), bytes};
  }

  StoreFaults faults() const { return open_gallery(folder_ / "g")->snapshot()->verify(); }
};

TEST_F(Verify, FindsNothingWhereAllIsWell) {
  filled();
  std::size_t told = 0;
  const std::shared_ptr<GridStore> gallery = open_gallery(folder_ / "g");
  const StoreFaults none = gallery->snapshot()->verify([&](std::size_t done, std::size_t total) {
    told = done;
    EXPECT_EQ(total, kImages);
  });
  EXPECT_EQ(none.items, kImages);
  EXPECT_EQ(told, kImages);
  EXPECT_TRUE(none.faults.empty()) << none.faults[0];
  EXPECT_TRUE(none.damaged.empty());
}

TEST_F(Verify, CanBeCancelled) {
  expect_refused([&] { filled()->snapshot()->verify(Progress().with([] { return true; })); },
                 "cancelled", ErrorKind::cancelled);
}

TEST_F(Verify, FindsTheGridThatChanged) {
  filled();
  damage(as_text(some(17, 1).cells, 9 * kDim * sizeof(float)));
  const StoreFaults found = faults();
  EXPECT_EQ(found.damaged, std::vector<std::int64_t>{17});
  EXPECT_EQ(found.faults, std::vector<std::string>{
                              "item 17: the checksum of its grid, text or thumbnail is wrong"});
}

TEST_F(Verify, FindsTheGlobalThatChanged) {
  filled();
  damage(as_text(some(5, 1).globals, kDim * sizeof(float)));
  const StoreFaults found = faults();
  EXPECT_EQ(found.damaged, std::vector<std::int64_t>{5});
  EXPECT_EQ(found.faults.at(0), "item 5: the checksum of its global vector or label is wrong");
}

TEST_F(Verify, FindsTheThumbnailThatChanged) {
  filled();
  damage(std::string(59, static_cast<char>(59)));
  EXPECT_EQ(faults().damaged, std::vector<std::int64_t>{59});
}

TEST_F(Verify, RemovingWhatIsDamagedMakesItWhole) {
  filled();
  damage("images/42.jpg");
  EXPECT_EQ(faults().damaged, std::vector<std::int64_t>{42});
  const std::shared_ptr<GridStore> gallery = open_gallery(folder_ / "g", StoreAccess::write);
  gallery->remove(gallery->snapshot()->verify().damaged);
  EXPECT_TRUE(gallery->snapshot()->verify().faults.empty());
  EXPECT_EQ(gallery->snapshot()->size(), kImages - 1);
  add(*gallery, 42, 1);
  EXPECT_EQ(gallery->snapshot()->find("images/42.jpg"), 60);
  EXPECT_TRUE(gallery->snapshot()->verify().faults.empty());
}

TEST_F(Verify, WhatAGallerySaysAboutItselfIsCheckedOnOpening) {
  filled();
  damage("\"cells_per_grid\":9");
  expect_refused([&] { open_gallery(folder_ / "g"); }, "its description is damaged",
                 ErrorKind::damaged);
}

TEST_F(Verify, AFileThatWasCutOffIsRefused) {
  filled();
  const std::string path = folder_ / "g/data.mdb";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  expect_refused([&] { open_gallery(folder_ / "g"); }, "is truncated", ErrorKind::damaged);
}

}  // namespace
}  // namespace diml::test
