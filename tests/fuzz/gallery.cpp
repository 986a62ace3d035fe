// The file of a gallery. A whole one in which some bytes are others: each five bytes of the input
// say which byte, and its new value. Everything is read, verified, changed and salvaged: the answer
// is an error, or there is one.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "diml/gallery.h"
#include "fuzz/fuzz_target.h"

namespace {

using namespace diml;

// Where a byte is changed: in the heads of pages more often than elsewhere.
std::size_t place_of(std::span<const std::uint8_t> edit, std::size_t size) {
  const std::size_t page = (edit[0] | edit[1] << 8) % (size / 4096);
  const std::size_t offset = edit[2] | (edit[3] & 0x0f) << 8;
  return page * 4096 + ((edit[3] & 0x80) != 0 ? offset % 64 : offset);
}

template <class Call>
void attempt(Call call) {
  try {
    call();
  } catch (const Error&) {
  }
}

void use(GridStore& store) {
  const std::unique_ptr<GridSnapshot> snapshot = store.snapshot();
  for (std::int64_t id = 0; id < 30; ++id) {
    attempt([&] { (void)snapshot->find(snapshot->item(id).path); });
    attempt([&] { (void)snapshot->thumbnail(id); });
    attempt([&] { (void)snapshot->grid(id); });
  }
  attempt([&] { snapshot->visit(0, [](auto, auto, auto) { return true; }); });
  attempt([&] { (void)snapshot->changes_since(1); });
  attempt([&] { (void)snapshot->verify(); });
}

void read(std::span<const std::uint8_t> bytes) {
  static const TemporaryFolder folder;
  static const std::string whole = [] {
    std::ifstream file(DIML_FIXTURES "/format_2.mdb", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  std::string damaged = whole;
  for (; bytes.size() >= 5; bytes = bytes.subspan(5)) {
    damaged[place_of(bytes, damaged.size())] = static_cast<char>(bytes[4]);
  }
  const std::string gallery = folder / "g";
  const std::string salvaged = folder / "s";
  for (const std::string& one : {gallery, salvaged}) std::filesystem::remove_all(one);
  std::filesystem::create_directory(gallery);
  std::ofstream(gallery + "/data.mdb", std::ios::binary) << damaged;
  attempt([&] { salvage_gallery(gallery, salvaged); });
  attempt([&] {
    const std::shared_ptr<GridStore> store = open_gallery(gallery, StoreAccess::write);
    attempt([&] { use(*store); });
    for (const std::int64_t id : {3, 7, 20}) {
      attempt([&] { store->remove(std::vector<std::int64_t>{id}); });
    }
    attempt([&] { store->update(std::vector<ItemUpdate>{{.id = 8, .label = "new"}}); });
    attempt([&] { use(*store); });
  });
}

}  // namespace

DIML_FUZZ_TARGET(read)
