#include "lmdb_store.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <unordered_set>

#include <unistd.h>

#include "base/system_error.h"
#include "base/temporary_folder.h"
#include "diml/error.h"
#include "diml/gallery.h"
#include "lmdb_error.h"
#include "reading.h"
#include "reopening_store.h"
#include "search/item_metadata.h"

namespace diml::gallery {
namespace {

namespace fs = std::filesystem;

void set_number(Transaction& transaction, std::string_view name, std::uint64_t number) {
  transaction.put(Table::about, bytes_of(name), encode_number(name, number));
}

// A reader that is more than this many revisions behind reads everything again.
constexpr std::uint64_t kRemembered = 65536;

void next_revision(Transaction& transaction, std::span<const std::int64_t> change) {
  const std::uint64_t revision = number_of(transaction, kRevision) + 1;
  set_number(transaction, kRevision, revision);
  const auto key = key_of(static_cast<std::int64_t>(revision));
  transaction.append(Table::changes, key, encode_numbers(key, change));
  if (revision > kRemembered) {
    transaction.remove(Table::changes, key_of(static_cast<std::int64_t>(revision - kRemembered)));
  }
}

// Numbers of older formats have no checksum: those that contradict the records get none now.
void seal_numbers(Transaction& transaction, const std::string& folder) {
  const std::uint64_t revision = number_of(transaction, kRevision);
  const std::uint64_t next = number_of(transaction, kNextId);
  const auto last_key = [&](Table table) {
    Cursor cursor(transaction, table);
    return cursor.previous() ? id_of(cursor.key()) : -1;
  };
  const std::int64_t last = std::max(last_key(Table::items), last_key(Table::globals));
  const std::int64_t change = last_key(Table::changes);
  if (static_cast<std::int64_t>(next) <= last ||
      (change >= 0 && static_cast<std::int64_t>(revision) != change)) {
    throw damaged_error(folder + ": its revision or its next id is damaged");
  }
  set_number(transaction, kRevision, revision);
  set_number(transaction, kNextId, next);
  // Whoever follows the gallery reads it as a whole, once.
  std::vector<std::int64_t> old;
  {
    Cursor cursor(transaction, Table::changes);
    while (cursor.next()) old.push_back(id_of(cursor.key()));
  }
  for (const std::int64_t one : old) transaction.remove(Table::changes, key_of(one));
}

// An older diml must not read records that it does not know: it would call them damaged.
void raise_version(Transaction& transaction, const std::string& folder) {
  const Bytes key = bytes_of(kDescription);
  Description description =
      decode_description(transaction.find(Table::about, key).value_or(Bytes()), folder);
  if (description.version == kFormatVersion) return;
  if (description.version < kSealedNumbers) seal_numbers(transaction, folder);
  description.version = kFormatVersion;
  transaction.put(Table::about, key, encode(key, description));
}

// Removes the path of an item whose record may be damaged, by searching all paths. Returns whether
// it had one.
bool remove_path(Transaction& transaction, std::int64_t id) {
  const std::array<std::byte, 8> wanted = key_of(id);
  const auto record = transaction.find(Table::items, wanted);
  ItemRecord item;
  if (record && decode(*record, item)) {
    const std::string key = path_key(std::string(item.path));
    const auto named = transaction.find(Table::paths, bytes_of(key));
    if (named && id_of_path(*named) == id) {
      return transaction.remove(Table::paths, bytes_of(key));
    }
  }
  std::string key;
  {
    Cursor cursor(transaction, Table::paths);
    while (key.empty() && cursor.next()) {
      if (id_of_path(cursor.value()) != id) continue;
      key.assign(reinterpret_cast<const char*>(cursor.key().data()), cursor.key().size());
    }
  }
  return !key.empty() && transaction.remove(Table::paths, bytes_of(key));
}

bool remove_item(Transaction& transaction, std::int64_t id) {
  const bool had_path = remove_path(transaction, id);
  const bool had_record = transaction.remove(Table::items, key_of(id));
  const bool had_global = transaction.remove(Table::globals, key_of(id));
  return had_path || had_record || had_global;
}

std::shared_ptr<Environment> made_environment(const std::string& folder, const GridFormat& format) {
  auto environment = Environment::open(folder, StoreAccess::write, Environment::Wanted::fresh);
  const Description description{format, new_birth()};
  const Bytes key = bytes_of(kDescription);
  Transaction transaction(environment, StoreAccess::write);
  transaction.put(Table::about, key, encode(key, description));
  set_number(transaction, kRevision, 0);
  set_number(transaction, kNextId, 0);
  transaction.commit();
  return environment;
}

bool is_empty_or_absent(const std::string& folder) {
  std::error_code failed;
  return !fs::exists(folder, failed) || is_empty_folder(folder);
}

}  // namespace

LmdbStore::LmdbStore(std::shared_ptr<Environment> environment, GridFormat format)
    : environment_(std::move(environment)), format_(std::move(format)) {}

std::shared_ptr<LmdbStore> LmdbStore::create(const std::string& folder, const GridFormat& format) {
  check_grid_shape(format.cells_per_grid, format.dim);
  std::error_code failed;
  if (fs::exists(folder + "/data.mdb", failed)) {
    throw Error(
        ErrorKind::conflict,
        folder +
            ": is already a gallery: open it to continue with it; a new one needs another folder");
  }
  if (!is_empty_or_absent(folder)) {
    throw Error(
        ErrorKind::conflict,
        folder + ": exists and is not a gallery: name a folder that is empty or does not exist");
  }
  const bool made = fs::create_directory(folder, failed);
  if (failed) throw system_error(folder + ": cannot be made", failed);
  const std::string data = folder + "/data.mdb";
  const std::string lock = folder + "/lock.mdb";
  try {
    return std::make_shared<LmdbStore>(made_environment(folder, format), format);
  } catch (...) {  // a full disk, no memory: the incomplete gallery is removed without either
    ::unlink(data.c_str());
    ::unlink(lock.c_str());
    if (made) ::rmdir(folder.c_str());
    throw;
  }
}

std::shared_ptr<LmdbStore> LmdbStore::open(const std::string& folder, StoreAccess access) {
  std::error_code failed;
  if (!fs::exists(folder + "/data.mdb", failed)) {
    throw Error(ErrorKind::not_found, folder + ": there is no gallery: create one",
                "create_gallery");
  }
  auto environment = Environment::open(folder, access, Environment::Wanted::existing);
  const Transaction transaction(environment, StoreAccess::read);
  const auto record = transaction.find(Table::about, bytes_of(kDescription));
  GridFormat format = decode_description(record.value_or(Bytes()), folder).format;
  return std::make_shared<LmdbStore>(std::move(environment), std::move(format));
}

std::string LmdbStore::caution() const {
  if (environment_->locks()) return "";
  return environment_->folder() +
         ": lock.mdb cannot be written, so the gallery is read without a lock: calls during which "
         "others change it may fail and must be repeated";
}

std::unique_ptr<GridSnapshot> LmdbStore::snapshot() const {
  return std::make_unique<LmdbSnapshot>(environment_, format_);
}

std::vector<std::int64_t> LmdbStore::add(std::span<const NewItem> items, const GridSetView& grids,
                                         Duplicates duplicates) {
  expect_fit(format_, items.size(), grids);
  if (items.empty()) return {};
  const std::size_t cell_bytes = bytes_of_grid(grids.type, grids.cells_per_grid, grids.dim);
  Transaction transaction(environment_, StoreAccess::write);
  raise_version(transaction, name());
  std::uint64_t next = number_of(transaction, kNextId);
  std::vector<std::int64_t> change = {static_cast<std::int64_t>(next)};
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const NewItem& item = items[i];
    expect_label(item.label, item.path);
    const std::string named = path_key(item.path);
    if (const auto there = find_path(transaction, item.path)) {
      if (duplicates == Duplicates::refuse) {
        throw Error(ErrorKind::conflict,
                    item.path + ": is in the gallery already: replace it, or leave it out",
                    "duplicates");
      }
      change.push_back(*there);
      remove_item(transaction, change.back());
    }
    const auto id = static_cast<std::int64_t>(next++);
    const std::array<std::byte, 8> key = key_of(id);
    const GridView grid = grids[i];
    const std::string metadata = checked_metadata(item.metadata, item.path);
    const std::string source = text_of(item.source);
    const ItemRecord record{{static_cast<const std::byte*>(grid.cells), cell_bytes},
                            item.path,
                            metadata,
                            std::as_bytes(std::span(item.thumbnail)),
                            source};
    transaction.append(Table::items, key, encode(key, record));
    const GlobalRecord global{item.label, std::as_bytes(std::span(grid.global, grid.dim))};
    transaction.append(Table::globals, key, encode(key, global));
    transaction.put(Table::paths, bytes_of(named), encode_path(bytes_of(named), id));
    ids.push_back(id);
  }
  set_number(transaction, kNextId, next);
  next_revision(transaction, change);
  transaction.commit();
  return ids;
}

void LmdbStore::update_item(Transaction& transaction, const ItemUpdate& update) const {
  const std::array<std::byte, 8> key = key_of(update.id);
  // A new checksum over damaged bytes would hide the damage.
  const auto stored = find_item(transaction, update.id, Part::all);
  const auto vector = find_global(transaction, update.id);
  if (!stored && !vector) {
    throw Error(ErrorKind::not_found,
                name() + ": has no item " + std::to_string(update.id) + ": nothing was changed");
  }
  ItemRecord item;
  GlobalRecord global;
  if (!stored || !vector || !decode(*stored, item) || !decode(*vector, format_.dim, global)) {
    refuse_damaged(*environment_, update.id);
  }
  const std::string path(item.path);
  // The records are encoded before anything is written: they are views into the file.
  if (update.label) {
    expect_label(*update.label, path);
    global.label = *update.label;
  }
  const std::string metadata =
      update.metadata ? checked_metadata(*update.metadata, path) : std::string(item.metadata);
  const std::string source = update.source ? text_of(update.source) : std::string(item.source);
  item.metadata = metadata;
  item.source = source;
  const std::vector<std::byte> new_item = encode(key, item);
  const std::vector<std::byte> new_global = encode(key, global);
  if (update.metadata || update.source) transaction.put(Table::items, key, new_item);
  if (update.label) transaction.put(Table::globals, key, new_global);
}

void LmdbStore::update(std::span<const ItemUpdate> updates) {
  if (updates.empty()) return;
  Transaction transaction(environment_, StoreAccess::write);
  raise_version(transaction, name());
  std::vector<std::int64_t> change = {static_cast<std::int64_t>(number_of(transaction, kNextId))};
  for (const ItemUpdate& one : updates) {
    update_item(transaction, one);
    change.push_back(~one.id);
  }
  next_revision(transaction, change);
  transaction.commit();
}

void LmdbStore::remove(std::span<const std::int64_t> ids) {
  if (ids.empty()) return;
  Transaction transaction(environment_, StoreAccess::write);
  raise_version(transaction, name());
  std::vector<std::int64_t> change = {static_cast<std::int64_t>(number_of(transaction, kNextId))};
  std::unordered_set<std::int64_t> done;
  for (const std::int64_t id : ids) {
    if (!done.insert(id).second) continue;
    if (!remove_item(transaction, id)) {
      throw Error(ErrorKind::not_found,
                  name() + ": has no item " + std::to_string(id) + ": nothing was removed");
    }
    change.push_back(id);
  }
  next_revision(transaction, change);
  transaction.commit();
}

GridStore::Space LmdbStore::space() const {
  const Transaction transaction(environment_, StoreAccess::read);
  MDB_envinfo info;
  MDB_stat stat;
  environment_->check(mdb_env_info(environment_->get(), &info));
  environment_->check(mdb_env_stat(environment_->get(), &stat));
  std::vector<MDB_dbi> tables = {MDB_dbi{0}, MDB_dbi{1}};
  for (std::size_t t = 0; t < kTables; ++t) {
    const auto table = static_cast<Table>(t);
    if (environment_->has(table)) tables.push_back(environment_->table(table));
  }
  std::uint64_t in_use = 2;  // the file's two meta pages
  for (const MDB_dbi table : tables) {
    MDB_stat of_table;
    environment_->check(mdb_stat(transaction.get(), table, &of_table));
    in_use += of_table.ms_branch_pages + of_table.ms_leaf_pages + of_table.ms_overflow_pages;
  }
  const std::uint64_t pages = info.me_last_pgno + 1;
  return {pages * stat.ms_psize, (pages - std::min(pages, in_use)) * stat.ms_psize,
          info.me_mapsize};
}

void LmdbStore::await_writers_turn() const {
  const Transaction turn(environment_, StoreAccess::write);  // ends without a change
}

}  // namespace diml::gallery
