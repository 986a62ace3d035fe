#include "diml/gallery.h"

#include "lmdb_store.h"

namespace diml {

std::shared_ptr<GridStore> create_gallery(const std::string& folder, const GridFormat& format) {
  return gallery::LmdbStore::create(folder, format);
}

std::shared_ptr<GridStore> open_gallery(const std::string& folder, StoreAccess access) {
  return gallery::LmdbStore::open(folder, access);
}

}  // namespace diml
