#include "diml/gallery.h"

#include <filesystem>

#include "diml/error.h"
#include "lmdb_store.h"
#include "postgres/address.h"
#include "sharding.h"
#if DIML_HAS_POSTGRES
#include "postgres/postgres_store.h"
#endif

namespace diml {
namespace {

namespace fs = std::filesystem;

#if !DIML_HAS_POSTGRES
[[noreturn]] void refuse_address(const std::string& address) {
  throw Error(ErrorKind::unsupported,
              shown_gallery(address) +
                  ": this build has no galleries in PostgreSQL: install libpq-dev and build again");
}
#endif

}  // namespace

bool is_in_database(const std::string& name) { return postgres::is_address(name); }

std::string shown_gallery(const std::string& name) {
  return postgres::is_address(name) ? postgres::address_from(name).shown : name;
}

std::shared_ptr<GridStore> create_gallery(const std::string& name, const GridFormat& format) {
  if (!postgres::is_address(name)) return gallery::LmdbStore::create(name, format);
#if DIML_HAS_POSTGRES
  return postgres::PostgresStore::create(name, format);
#else
  refuse_address(name);
#endif
}

std::shared_ptr<GridStore> open_gallery(const std::string& name, StoreAccess access) {
  if (!postgres::is_address(name)) return gallery::LmdbStore::open(name, access);
#if DIML_HAS_POSTGRES
  return postgres::PostgresStore::open(name, access);
#else
  refuse_address(name);
#endif
}

bool gallery_exists(const std::string& name) {
  std::error_code failed;
  if (!postgres::is_address(name)) return fs::exists(fs::path(name) / "data.mdb", failed);
#if DIML_HAS_POSTGRES
  return postgres::PostgresStore::exists(name);
#else
  refuse_address(name);
#endif
}

bool remove_empty_gallery(const std::string& name) {
  if (postgres::is_address(name)) {
#if DIML_HAS_POSTGRES
    return postgres::PostgresStore::remove_empty(name);
#else
    refuse_address(name);
#endif
  }
  if (!gallery_exists(name) || open_gallery(name)->snapshot()->size() > 0) return false;
  std::error_code ignored;
  for (const char* file : {"data.mdb", "lock.mdb"}) fs::remove(fs::path(name) / file, ignored);
  fs::remove(name, ignored);
  return true;
}

}  // namespace diml

#if !DIML_HAS_POSTGRES
namespace diml::gallery {
void shard(const std::string& gallery, std::span<const std::string>) { refuse_address(gallery); }
}  // namespace diml::gallery
#endif
