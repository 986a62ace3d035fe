// Backups, restoring, compacting, and taking out what is whole.

#include <atomic>
#include <thread>

#include "diml/error.h"
#include "gallery/gallery_folder.h"
#include "gallery/page_kinds.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;

class Keep : public GalleryFolder {
 protected:
  std::string at(const std::string& name) const { return folder_ / name; }

  // With free pages and large records.
  std::shared_ptr<GridStore> used() const {
    std::shared_ptr<GridStore> store = create_gallery(at("g"), format());
    std::vector<NewItem> all = items(0, kImages);
    for (std::size_t i = 0; i < kImages; i += 7) all[i].thumbnail.resize(9000, 1);
    store->add(all, some(0, kImages));
    for (int k = 0; k < 3; ++k) {
      store->add({all.data(), 30}, some(0, 30), Duplicates::replace);
    }
    store->remove(std::vector<std::int64_t>{40, 41});
    return store;
  }

  // Everything of both but their files.
  static void expect_equal(const GridStore& one, const GridStore& other) {
    const std::unique_ptr<GridSnapshot> a = one.snapshot();
    const std::unique_ptr<GridSnapshot> b = other.snapshot();
    EXPECT_EQ(a->birth(), b->birth());
    EXPECT_EQ(a->revision(), b->revision());
    ASSERT_EQ(a->ids(), b->ids());
    for (const std::int64_t id : a->ids()) expect_equal_items(*a, *b, id);
    EXPECT_EQ(a->changes_since(3)->removed, b->changes_since(3)->removed);
    EXPECT_EQ(a->changes_since(3)->first_new_id, b->changes_since(3)->first_new_id);
  }

  static void expect_equal_items(const GridSnapshot& a, const GridSnapshot& b, std::int64_t id) {
    const Item item = a.item(id);
    EXPECT_EQ(item.path, b.item(id).path);
    EXPECT_EQ(item.label, b.item(id).label);
    EXPECT_EQ(item.metadata, b.item(id).metadata);
    EXPECT_EQ(a.thumbnail(id), b.thumbnail(id));
    EXPECT_EQ(b.find(item.path), id);
    const auto bytes = [&](const GridSnapshot& of) {
      const GridView grid = of.grid(id);
      return std::string(static_cast<const char*>(grid.cells), 9 * kDim * sizeof(float)) +
             std::string(reinterpret_cast<const char*>(grid.global), kDim * sizeof(float));
    };
    EXPECT_TRUE(bytes(a) == bytes(b)) << id;
  }

  static std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  void flip(const std::string& gallery, const char* kind, std::size_t place, char bits,
            std::size_t which = 0) const {
    std::string bytes = bytes_of(gallery + "/data.mdb");
    const std::uint64_t page = kinds_of_pages(bytes).at(kind).at(which);
    bytes[page * 4096 + place] = static_cast<char>(bytes[page * 4096 + place] ^ bits);
    write_bytes(gallery + "/data.mdb", bytes);
  }
};

TEST_F(Keep, ABackupIsTheGalleryAsItWas) {
  const std::shared_ptr<GridStore> store = used();
  write_bytes(at("g/first_stage.faiss"), "an index");
  const GalleryCopy copy = back_up_gallery(at("g"), at("backup"));
  EXPECT_EQ(copy.items, kImages - 2);
  EXPECT_EQ(copy.revision, store->snapshot()->revision());
  EXPECT_EQ(bytes_of(at("backup/first_stage.faiss")), "an index");
  EXPECT_EQ(names_in(folder_.path()), (std::vector<std::string>{"backup", "g"}));
  expect_equal(*store, *open_gallery(at("backup")));
}

TEST_F(Keep, ABackupIsMadeWhileOthersWrite) {
  const std::shared_ptr<GridStore> store = used();
  std::atomic<bool> done = false;
  std::atomic<int> changes = 0;
  std::thread writer([&] {
    for (; !done; ++changes) add(*store, 0, 30, Duplicates::replace);
  });
  for (int k = 0; k < 5; ++k) {
    const int before = changes;
    const std::string to = at("backup " + std::to_string(k));
    const GalleryCopy copy = back_up_gallery(at("g"), to);
    const std::shared_ptr<GridStore> backup = open_gallery(to);
    EXPECT_EQ(copy.items, kImages - 2);
    EXPECT_GE(copy.revision, static_cast<std::uint64_t>(before));
    EXPECT_TRUE(backup->snapshot()->verify().faults.empty());
    while (changes == before) std::this_thread::yield();
  }
  done = true;
  writer.join();
}

TEST_F(Keep, OfADamagedGalleryNoBackupIsMade) {
  used();
  flip(at("g"), "large record: rest", 100, 1);
  expect_refused([&] { back_up_gallery(at("g"), at("backup")); }, "is damaged (item ",
                 ErrorKind::damaged);
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"g"});
}

TEST_F(Keep, NothingThatIsThereIsOverwritten) {
  used();
  create_gallery(at("h"), format());
  write_bytes(at("file"), "text");
  fs::create_directory(at("empty"));
  for (const char* name : {"h", "file"}) {
    expect_refused([&] { back_up_gallery(at("g"), at(name)); }, "exists: name a folder",
                   ErrorKind::conflict);
    expect_refused([&] { salvage_gallery(at("g"), at(name)); }, "exists: name a folder",
                   ErrorKind::conflict);
  }
  back_up_gallery(at("g"), at("empty"));
  expect_refused([&] { restore_gallery(at("g"), at("file")); }, "exists: name a folder",
                 ErrorKind::conflict);
  expect_refused([&] { restore_gallery(at("none"), at("h")); }, "there is no gallery",
                 ErrorKind::not_found);
}

TEST_F(Keep, RestoringPutsTheBackupInPlaceAndKeepsWhatWasThere) {
  std::shared_ptr<GridStore> store = used();
  back_up_gallery(at("g"), at("backup"));
  const std::vector<std::int64_t> more = {45, 46};
  store->remove(more);
  for (const char* name : {"g.replaced", "g.replaced-2"}) {
    const GalleryCopy copy = restore_gallery(at("backup"), at("g") + "/");
    EXPECT_EQ(copy.items, kImages - 2);
    EXPECT_EQ(copy.replaced, at(name));
  }
  expect_equal(*open_gallery(at("backup")), *open_gallery(at("g")));
  expect_refused([&] { store->remove(more); }, "was moved or replaced", ErrorKind::conflict);
  store.reset();
  EXPECT_EQ(open_gallery(at("g.replaced"))->snapshot()->size(), kImages - 4);
  EXPECT_EQ(restore_gallery(at("backup"), at("new")).replaced, "");
  EXPECT_EQ(open_gallery(at("new"))->snapshot()->size(), kImages - 2);
}

TEST_F(Keep, CompactingFreesTheSpaceAndChangesNothingElse) {
  std::uint64_t before = 0;
  {
    const std::shared_ptr<GridStore> store = used();
    before = store->space().used;
    EXPECT_GT(store->space().free, before / 5);
  }
  back_up_gallery(at("g"), at("backup"));
  write_bytes(at("g/first_stage.faiss"), "an index");
  fs::permissions(at("g/data.mdb"), fs::perms::owner_read | fs::perms::owner_write);
  const GalleryCopy copy = compact_gallery(at("g"));
  EXPECT_LT(copy.bytes, before * 8 / 10);
  EXPECT_EQ(fs::status(at("g/data.mdb")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(bytes_of(at("g/first_stage.faiss")), "an index");
  EXPECT_EQ(names_in(folder_.path()), (std::vector<std::string>{"backup", "g"}));
  const std::shared_ptr<GridStore> store = open_gallery(at("g"), StoreAccess::write);
  expect_equal(*open_gallery(at("backup")), *store);
  EXPECT_LE(store->space().free, 2 * 4096u);
  EXPECT_EQ(add(*store, 40, 1), std::vector<std::int64_t>{150});  // ids go on
  EXPECT_TRUE(store->snapshot()->verify().faults.empty());
}

TEST_F(Keep, CompactingMakesOldFormatsNew) {
  for (const std::string version : {"1", "2"}) {
    const std::string folder = at("old" + version);
    fs::create_directory(folder);
    fs::copy_file(DIML_FIXTURES "/format_" + version + ".mdb", folder + "/data.mdb");
    back_up_gallery(folder, at("as it was" + version));
    compact_gallery(folder);
    const std::shared_ptr<GridStore> was = open_gallery(at("as it was" + version));
    const std::shared_ptr<GridStore> is = open_gallery(folder);
    const std::unique_ptr<GridSnapshot> a = was->snapshot();
    const std::unique_ptr<GridSnapshot> b = is->snapshot();
    EXPECT_EQ(a->birth(), b->birth());
    EXPECT_EQ(a->revision(), b->revision());
    EXPECT_EQ(a->ids(), b->ids());
    for (const std::int64_t id : a->ids()) {
      EXPECT_EQ(a->item(id).path, b->item(id).path);
      EXPECT_EQ(a->item(id).label, b->item(id).label);
      EXPECT_EQ(a->thumbnail(id), b->thumbnail(id));
    }
    EXPECT_TRUE(b->verify().faults.empty());
  }
}

TEST_F(Keep, ADamagedGalleryIsNotCompacted) {
  used();
  flip(at("g"), "large record: rest", 100, 1);
  const std::string before = bytes_of(at("g/data.mdb"));
  expect_refused([&] { compact_gallery(at("g")); }, "salvage what is whole", ErrorKind::damaged);
  EXPECT_TRUE(bytes_of(at("g/data.mdb")) == before);
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"g"});
}

TEST_F(Keep, OfAWholeGalleryEverythingIsTakenOut) {
  const std::shared_ptr<GridStore> store = used();
  const Salvage found = salvage_gallery(at("g"), at("new"));
  EXPECT_EQ(found.items, kImages - 2);
  EXPECT_EQ(found.items_before, kImages - 2);
  EXPECT_EQ(found.damaged, 0u);
  EXPECT_EQ(found.unsure, 0u);
  EXPECT_EQ(found.damaged_pages, 0u);
  const std::shared_ptr<GridStore> made = open_gallery(at("new"), StoreAccess::write);
  const std::unique_ptr<GridSnapshot> a = store->snapshot();
  const std::unique_ptr<GridSnapshot> b = made->snapshot();
  EXPECT_NE(a->birth(), b->birth());
  ASSERT_EQ(a->ids(), b->ids());
  for (const std::int64_t id : a->ids()) expect_equal_items(*a, *b, id);
  EXPECT_EQ(add(*made, 40, 1), std::vector<std::int64_t>{150});
}

// Whatever page is damaged: what is taken out is as it was, and what is missing is counted.
TEST_F(Keep, OfADamagedGalleryWhatIsWholeIsTakenOut) {
  used();
  back_up_gallery(at("g"), at("backup"));
  const std::shared_ptr<GridStore> backup = open_gallery(at("backup"));
  const std::unique_ptr<GridSnapshot> wanted = backup->snapshot();
  const auto kinds = kinds_of_pages(bytes_of(at("g/data.mdb")));
  for (const auto& [kind, pages] : kinds) {
    // The whole page, its head, one record, the numbers of its entries.
    for (const auto& [first, last] :
         {std::pair(0, 4096), std::pair(0, 16), std::pair(4000, 4001), std::pair(12, 24)}) {
      fs::remove_all(at("bad"));
      fs::remove_all(at("new"));
      fs::copy(at("backup"), at("bad"));
      std::string bytes = bytes_of(at("bad/data.mdb"));
      for (int k = first; k < last; ++k) {
        char& byte = bytes[pages[0] * 4096 + static_cast<std::size_t>(k)];
        byte = static_cast<char>(byte ^ 0x55);
      }
      write_bytes(at("bad/data.mdb"), bytes);
      const Salvage found = salvage_gallery(at("bad"), at("new"));
      const std::shared_ptr<GridStore> made = open_gallery(at("new"));
      const std::unique_ptr<GridSnapshot> snapshot = made->snapshot();
      const std::string where =
          kind + ", bytes from " + std::to_string(first) + " to " + std::to_string(last);
      EXPECT_TRUE(snapshot->verify().faults.empty()) << where;
      EXPECT_EQ(snapshot->size(), found.items) << where;
      for (const std::int64_t id : snapshot->ids()) {
        // Without its last state the one before is what there is, and it is said.
        if (!wanted->contains(id) && kind == "meta: latest" && found.unsure > 0) continue;
        ASSERT_TRUE(wanted->contains(id)) << where << ": item " << id << " was removed before";
        expect_equal_items(*wanted, *snapshot, id);
      }
      if (found.items < wanted->size()) {
        EXPECT_GT(found.damaged + found.damaged_pages, 0u) << where;
      }
      EXPECT_GE(found.items, wanted->size() - (kind.starts_with("large") ? 1 : 35)) << where;
    }
  }
}

TEST_F(Keep, AFileThatIsCutOffGivesWhatIsLeft) {
  used();
  const std::string path = at("g/data.mdb");
  fs::resize_file(path, fs::file_size(path) / 2);
  expect_refused([&] { open_gallery(at("g")); }, "is truncated", ErrorKind::damaged);
  const Salvage found = salvage_gallery(at("g"), at("new"));
  EXPECT_GT(found.items, 0u);
  EXPECT_LT(found.items, kImages - 2);
  EXPECT_GT(found.damaged_pages, 0u);
  write_bytes(path, "nothing");
  expect_refused([&] { salvage_gallery(at("g"), at("other")); }, "nothing says which grids",
                 ErrorKind::damaged);
}

}  // namespace
}  // namespace diml::test
