// Galleries of format 1, whose labels are integers, stay readable and writable.

#include "base/sha256.h"
#include "gallery/environment.h"
#include "gallery/gallery_folder.h"
#include "gallery/records.h"

namespace diml::test {
namespace {

using gallery::Bytes;
using gallery::Environment;
using gallery::Table;
using gallery::Transaction;

class OldGallery : public GalleryFolder {
 protected:
  static constexpr std::size_t kOld = 20;

  // The bytes after their checksum.
  static std::vector<std::byte> sealed(Bytes key, const std::string& contents) {
    Sha256 sha;
    for (const Bytes part : {key, gallery::bytes_of(contents)}) {
      sha.update({reinterpret_cast<const std::uint8_t*>(part.data()), part.size()});
    }
    const auto checksum = gallery::number_record(std::stoull(sha.hex().substr(0, 16), nullptr, 16));
    std::vector<std::byte> record(checksum.begin(), checksum.end());
    const Bytes rest = gallery::bytes_of(contents);
    record.insert(record.end(), rest.begin(), rest.end());
    return record;
  }

  template <class Number>
  static std::string raw(Number number) {
    return {reinterpret_cast<const char*>(&number), sizeof(number)};
  }

  // Written as format 1 wrote it; the label of item i is i - 1.
  void make_old() const {
    add(*create_gallery(folder_ / "g", format()), 0, kOld);
    const auto environment =
        Environment::open(folder_ / "g", StoreAccess::write, Environment::Wanted::existing);
    Transaction transaction(environment, StoreAccess::write);
    for (std::size_t i = 0; i < kOld; ++i) {
      const auto key = gallery::key_of(static_cast<std::int64_t>(i));
      const GridView grid = generated_.grids[i];
      const auto* global = reinterpret_cast<const char*>(grid.global);
      transaction.put(Table::globals, key,
                      sealed(key, raw(static_cast<std::int64_t>(i) - 1) +
                                      std::string(global, kDim * sizeof(float))));
      const NewItem item = items(i, 1)[0];
      const std::string cells(static_cast<const char*>(grid.cells), 9 * kDim * sizeof(float));
      const std::string thumbnail(item.thumbnail.begin(), item.thumbnail.end());
      std::string contents;
      for (const std::string& part : {cells, item.path, item.metadata, thumbnail}) {
        contents += raw(static_cast<std::uint32_t>(part.size()));
      }
      transaction.put(Table::items, key,
                      sealed(key, contents + cells + item.path + item.metadata + thumbnail));
    }
    const Bytes key = gallery::bytes_of(gallery::kDescription);
    transaction.put(Table::about, key, gallery::encode(key, gallery::Description{format(), 77, 1}));
    transaction.commit();
  }

  int version() const {
    const auto environment =
        Environment::open(folder_ / "g", StoreAccess::read, Environment::Wanted::existing);
    const Transaction transaction(environment, StoreAccess::read);
    return gallery::decode_description(
               *transaction.find(Table::about, gallery::bytes_of(gallery::kDescription)), "g")
        .version;
  }
};

TEST_F(OldGallery, AnIntegerLabelIsItsWordAndMinusOneIsNone) {
  make_old();
  const std::shared_ptr<GridStore> store = open_gallery(folder_ / "g");
  const std::unique_ptr<GridSnapshot> snapshot = store->snapshot();
  EXPECT_EQ(snapshot->item(0).label, "");
  for (std::int64_t id = 1; id < static_cast<std::int64_t>(kOld); ++id) {
    EXPECT_EQ(snapshot->item(id).label, std::to_string(id - 1));
    EXPECT_EQ(snapshot->item(id).path, "images/" + std::to_string(id) + ".jpg");
  }
  snapshot->visit(0, [](std::int64_t id, std::string_view label, const void*) {
    EXPECT_EQ(label, id == 0 ? "" : std::to_string(id - 1));
    return true;
  });
  const StoreFaults found = snapshot->verify();
  EXPECT_TRUE(found.faults.empty()) << found.faults[0];
}

TEST_F(OldGallery, TakesWordsAndIsThenOfTheNewFormat) {
  make_old();
  EXPECT_EQ(version(), 1);
  std::vector<NewItem> more = items(kOld, 2);
  more[0].label = "pug";
  more[1].label = "eightlet";  // as long as an integer
  open_gallery(folder_ / "g", StoreAccess::write)->add(more, some(kOld, 2));
  EXPECT_EQ(version(), 2);  // an older diml refuses it instead of calling it damaged
  const std::shared_ptr<GridStore> store = open_gallery(folder_ / "g");
  const std::unique_ptr<GridSnapshot> snapshot = store->snapshot();
  EXPECT_EQ(snapshot->item(7).label, "6");
  EXPECT_EQ(snapshot->item(kOld).label, "pug");
  EXPECT_EQ(snapshot->item(kOld + 1).label, "eightlet");
  EXPECT_EQ(snapshot->birth(), 77u);
  EXPECT_TRUE(snapshot->verify().faults.empty());
}

}  // namespace
}  // namespace diml::test
