#include "diml/gallery.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "diml/error.h"
#include "lmdb_store.h"
#include "postgres/address.h"
#include "sharding.h"
#include "store_kind.h"
#if DIML_HAS_POSTGRES
#include "postgres/postgres_store.h"
#endif

namespace diml {
namespace {

namespace fs = std::filesystem;
using gallery::LmdbStore;
using gallery::StoreKind;
using Store = std::shared_ptr<GridStore>;

bool is_any(const std::string&) { return true; }

std::string as_it_is(const std::string& folder) { return folder; }

bool folder_exists(const std::string& folder) {
  std::error_code failed;
  return fs::exists(fs::path(folder) / "data.mdb", failed);
}

bool remove_empty_folder(const std::string& folder) {
  if (!folder_exists(folder)) return false;
  if (LmdbStore::open(folder, StoreAccess::read)->snapshot()->size() > 0) return false;
  std::error_code ignored;
  for (const char* file : {"data.mdb", "lock.mdb"}) fs::remove(fs::path(folder) / file, ignored);
  fs::remove(folder, ignored);
  return true;
}

std::string shown_address(const std::string& address) {
  return postgres::address_from(address).shown;
}

#if DIML_HAS_POSTGRES
using postgres::PostgresStore;
#else
[[noreturn]] void refuse(const std::string& address) {
  throw Error(ErrorKind::unsupported,
              shown_address(address) +
                  ": this build has no galleries in PostgreSQL: install libpq-dev and build again");
}

struct PostgresStore {
  static Store create(const std::string& address, const GridFormat&) { refuse(address); }
  static Store open(const std::string& address, StoreAccess) { refuse(address); }
  static bool exists(const std::string& address) { refuse(address); }
  static bool remove_empty(const std::string& address) { refuse(address); }
};
#endif

template <class Kind>
Store create(const std::string& name, const GridFormat& format) {
  return Kind::create(name, format);
}

template <class Kind>
Store open(const std::string& name, StoreAccess access) {
  return Kind::open(name, access);
}

// A new kind is a row here. The first that takes a name has it, and folders take every name.
const StoreKind& kind_of(const std::string& name) {
  static const std::array kinds = {
      StoreKind{postgres::is_address, shown_address, create<PostgresStore>, open<PostgresStore>,
                PostgresStore::exists, PostgresStore::remove_empty},
      StoreKind{is_any, as_it_is, create<LmdbStore>, open<LmdbStore>, folder_exists,
                remove_empty_folder},
  };
  return *std::find_if(kinds.begin(), kinds.end(),
                       [&](const StoreKind& kind) { return kind.takes(name); });
}

}  // namespace

bool is_in_database(const std::string& name) { return postgres::is_address(name); }

std::string shown_gallery(const std::string& name) { return kind_of(name).shown(name); }

Store create_gallery(const std::string& name, const GridFormat& format) {
  return kind_of(name).create(name, format);
}

Store open_gallery(const std::string& name, StoreAccess access) {
  return kind_of(name).open(name, access);
}

bool gallery_exists(const std::string& name) { return kind_of(name).exists(name); }

bool remove_empty_gallery(const std::string& name) { return kind_of(name).remove_empty(name); }

}  // namespace diml

#if !DIML_HAS_POSTGRES
namespace diml::gallery {
void shard(const std::string& gallery, std::span<const std::string>) { refuse(gallery); }
}  // namespace diml::gallery
#endif
