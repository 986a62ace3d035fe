// Galleries of formats 1 and 2 stay readable and writable. The fixtures were written by the
// versions of this program that wrote these formats: 24 generated grids, two removed, one replaced.

#include <cstring>

#include "diml/searcher.h"
#include "gallery/environment.h"
#include "gallery/gallery_folder.h"
#include "gallery/reading.h"

namespace diml::test {
namespace {

using gallery::Environment;
using gallery::Table;
using gallery::Transaction;

class OldGallery : public testing::TestWithParam<int> {
 protected:
  static constexpr std::size_t kMade = 24;
  static constexpr std::int64_t kReplaced = 10;
  static constexpr std::int64_t kAnew = 24;  // the id that it has got

  OldGallery() {
    std::filesystem::create_directory(folder_ / "g");
    std::filesystem::copy_file(DIML_FIXTURES "/format_" + std::to_string(GetParam()) + ".mdb",
                               folder_ / "g/data.mdb");
  }

  std::string gallery() const { return folder_ / "g"; }

  static std::string label_of(std::int64_t i) {
    if (GetParam() == 1) return i % 5 == 0 ? "" : std::to_string(i % 5 - 1);
    return i % 5 == 0 ? "" : "word " + std::to_string(i % 5);
  }

  static std::vector<std::int64_t> ids() {
    std::vector<std::int64_t> ids;
    for (std::int64_t id = 0; id <= kAnew; ++id) {
      if (id != 4 && id != 11 && id != kReplaced) ids.push_back(id);
    }
    return ids;
  }

  void expect_item(const GridSnapshot& snapshot, std::int64_t id) const {
    const std::int64_t made = id == kAnew ? kReplaced : id;
    const Item item = snapshot.item(id);
    EXPECT_EQ(item.path, "images/" + std::to_string(made) + ".jpg");
    EXPECT_EQ(item.label, label_of(made));
    EXPECT_EQ(item.metadata, made % 2 == 0 ? "{}" : "{\"number\":" + std::to_string(made) + "}");
    EXPECT_EQ(item.source.has_value(), GetParam() == 2 && made % 3 == 0);
    EXPECT_EQ(snapshot.find(item.path), id);
    const std::size_t bytes =
        made == 3 || made == kReplaced ? 5000 : static_cast<std::size_t>(made);
    EXPECT_EQ(snapshot.thumbnail(id),
              std::vector<std::uint8_t>(bytes, static_cast<std::uint8_t>(made)));
    const GridView wanted = generated_.grids[static_cast<std::size_t>(made)];
    const GridView grid = snapshot.grid(id);
    EXPECT_EQ(std::memcmp(grid.cells, wanted.cells, 4 * 8 * 2), 0);
    EXPECT_EQ(std::memcmp(grid.global, wanted.global, 8 * sizeof(float)), 0);
  }

  int version() const {
    const auto environment =
        Environment::open(gallery(), StoreAccess::read, Environment::Wanted::existing);
    const Transaction transaction(environment, StoreAccess::read);
    return gallery::decode_description(
               *transaction.find(Table::about, gallery::bytes_of(gallery::kDescription)), "g")
        .version;
  }

  // One bit of the record that was found.
  void flip(Table table, const std::string& key, std::size_t place) const {
    std::string record;
    {
      const auto environment =
          Environment::open(gallery(), StoreAccess::read, Environment::Wanted::existing);
      const Transaction transaction(environment, StoreAccess::read);
      const auto found = transaction.find(table, gallery::bytes_of(key));
      ASSERT_TRUE(found);
      record = key + std::string(reinterpret_cast<const char*>(found->data()), found->size());
    }
    std::string bytes = bytes_of(gallery() + "/data.mdb");
    std::size_t at = bytes.find(record);
    ASSERT_NE(at, std::string::npos);
    for (; at != std::string::npos; at = bytes.find(record, at + 1)) {
      bytes[at + key.size() + place] = static_cast<char>(bytes[at + key.size() + place] ^ 1);
    }
    write_bytes(gallery() + "/data.mdb", bytes);
  }

  const TemporaryFolder folder_;
  const GeneratedGrids generated_ = generate_grids(
      {.size = kMade, .classes = 4, .grid = 2, .dim = 8, .seed = 7, .type = CellType::float16});
};

TEST_P(OldGallery, IsReadAsItWasWritten) {
  EXPECT_EQ(version(), GetParam());
  const std::shared_ptr<GridStore> store = open_gallery(gallery());
  const std::unique_ptr<GridSnapshot> snapshot = store->snapshot();
  EXPECT_EQ(snapshot->ids(), ids());
  EXPECT_EQ(snapshot->revision(), 4u);
  for (const std::int64_t id : ids()) expect_item(*snapshot, id);
  const StoreFaults found = snapshot->verify();
  EXPECT_TRUE(found.faults.empty()) << found.faults[0];
  EXPECT_EQ(version(), GetParam());  // a reader changes nothing
}

TEST_P(OldGallery, TakesChangesAndIsThenOfTheNewFormat) {
  std::uint64_t birth = 0;
  {
    const std::shared_ptr<GridStore> store = open_gallery(gallery(), StoreAccess::write);
    birth = store->snapshot()->birth();
    const GridView grid = generated_.grids[0];
    const NewItem item{.path = "new.jpg", .label = "pug"};
    EXPECT_EQ(store->add({&item, 1}, set_of({&grid, 1})), std::vector<std::int64_t>{25});
    EXPECT_FALSE(store->snapshot()->changes_since(4 - 1));  // those had no checksum
    EXPECT_TRUE(store->snapshot()->changes_since(4));
    store->update(std::vector<ItemUpdate>{{.id = 7, .label = "word 2"}});
    store->remove(std::vector<std::int64_t>{3});  // a large record
  }
  EXPECT_EQ(version(), 3);  // an older diml refuses it instead of calling it damaged
  const std::shared_ptr<GridStore> store = open_gallery(gallery());
  const std::unique_ptr<GridSnapshot> snapshot = store->snapshot();
  EXPECT_EQ(snapshot->birth(), birth);
  EXPECT_EQ(snapshot->revision(), 7u);
  EXPECT_EQ(snapshot->item(7).label, "word 2");
  EXPECT_EQ(snapshot->item(25).label, "pug");
  for (const std::int64_t id : ids()) {
    if (id != 3 && id != 7) expect_item(*snapshot, id);
  }
  const StoreFaults found = snapshot->verify();
  EXPECT_TRUE(found.faults.empty()) << found.faults[0];
}

TEST_P(OldGallery, ItsRecordsAreComparedWhenTheyAreUsed) {
  const auto eighth = gallery::key_of(8);
  const std::string key(reinterpret_cast<const char*>(eighth.data()), eighth.size());
  flip(Table::items, key, 40);
  const std::shared_ptr<GridStore> store = open_gallery(gallery());
  const std::unique_ptr<GridSnapshot> snapshot = store->snapshot();
  for (int k = 0; k < 2; ++k) {
    expect_refused([&] { (void)snapshot->grid(8); }, "item 8 is damaged", ErrorKind::damaged);
    (void)snapshot->grid(9);
  }
}

TEST_P(OldGallery, APathThatLeadsToAnotherItemIsDamaged) {
  flip(Table::paths, gallery::path_key("images/8.jpg"), 7);  // 8 becomes 9
  const std::shared_ptr<GridStore> store = open_gallery(gallery());
  expect_refused([&] { (void)store->snapshot()->find("images/8.jpg"); },
                 "its list of paths is damaged", ErrorKind::damaged);
}

TEST_P(OldGallery, NumbersThatContradictTheItemsGetNoChecksum) {
  flip(Table::about, std::string(gallery::kNextId), 0);  // 25 becomes 24, which is in use
  const std::shared_ptr<GridStore> store = open_gallery(gallery(), StoreAccess::write);
  const std::vector<std::int64_t> one = {0};
  expect_refused([&] { store->remove(one); }, "its revision or its next id is damaged",
                 ErrorKind::damaged);
}

INSTANTIATE_TEST_SUITE_P(Format, OldGallery, testing::Values(1, 2),
                         [](const auto& format) { return std::to_string(format.param); });

}  // namespace
}  // namespace diml::test
