// The folder of an open gallery is moved away, and another is put in its place.

#include <thread>

#include "diml/error.h"
#include "gallery/gallery_folder.h"
#include "gallery/reopening_store.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;

class Replaced : public GalleryFolder {
 protected:
  void move(const std::string& from, const std::string& to) const {
    fs::rename(folder_ / from, folder_ / to);
  }
  // A change is refused, with the parameter that asks for opening again.
  void expect_noticed(GridStore& store) const {
    for (const auto& call : std::vector<std::function<void()>>{[&] { add(store, 7, 1); },
                                                               [&] { (void)store.snapshot(); }}) {
      try {
        call();
        ADD_FAILURE() << "nothing was noticed";
      } catch (const Error& error) {
        EXPECT_STREQ(error.parameter(), "reopen") << error.what();
        EXPECT_EQ(error.kind(), ErrorKind::conflict);
      }
    }
  }
};

TEST_F(Replaced, AFolderThatWasMovedAwayIsNoticed) {
  const std::shared_ptr<GridStore> store = create_gallery(folder_ / "g", format());
  add(*store, 0, 3);
  const std::unique_ptr<GridSnapshot> before = store->snapshot();
  move("g", "away");
  expect_noticed(*store);
  create_gallery(folder_ / "g", format());
  expect_noticed(*store);
  EXPECT_EQ(before->item(2).path, "images/2.jpg");  // a snapshot stays as it was
  fs::remove_all(folder_ / "g");
  move("away", "g");
  add(*store, 7, 1);
  EXPECT_EQ(store->snapshot()->size(), 4u);
}

TEST_F(Replaced, TheNewOneIsOpenedWhileTheOldOneIsOpen) {
  const auto open = [this] { return open_gallery(folder_ / "g", StoreAccess::write); };
  filled();
  gallery::ReopeningStore store(open(), open);
  const std::unique_ptr<GridSnapshot> before = store.snapshot();
  move("g", "away");
  create_gallery(folder_ / "g", format());
  expect_refused([&] { add(store, 7, 1); }, "it has been opened again: repeat the request",
                 ErrorKind::out_of_resources);
  EXPECT_EQ(store.snapshot()->size(), 0u);
  EXPECT_EQ(add(store, 7, 1), std::vector<std::int64_t>{0});
  EXPECT_EQ(before->size(), kImages);
  EXPECT_EQ(open_gallery(folder_ / "g")->snapshot()->size(), 1u);
}

TEST_F(Replaced, AFileAloneIsNotTakenWithTheLockOfAnother) {
  const std::shared_ptr<GridStore> store = filled();
  create_gallery(folder_ / "h", format());
  move("h/data.mdb", "g/data.mdb");
  expect_noticed(*store);
  expect_refused([&] { open_gallery(folder_ / "g"); }, "put the whole folder in place",
                 ErrorKind::conflict);
}

TEST_F(Replaced, ClosingAndOpeningAtOnceIsOneAfterTheOther) {
  filled();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        EXPECT_EQ(open_gallery(folder_ / "g", StoreAccess::write)->snapshot()->size(), kImages);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace diml::test
