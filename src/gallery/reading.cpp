#include "reading.h"

#include "diml/error.h"
#include "lmdb_error.h"

namespace diml::gallery {
namespace {

[[noreturn]] void refuse_damaged_path(const Environment& environment) {
  throw damaged_error(environment.folder() + ": its list of paths is damaged");
}

// A path of an older format has no checksum, but its item has.
bool is_whole_path(const Transaction& transaction, Bytes key, Bytes record) {
  if (path_has_checksum(record)) return is_intact_path(key, record);
  const auto stored = transaction.find(Table::items, key_of(id_of_path(record)));
  ItemRecord item;
  if (!stored ||
      !is_intact(transaction, Table::items, key_of(id_of_path(record)), *stored, Part::texts)) {
    return false;
  }
  if (!decode(*stored, item)) return false;
  const std::string wanted = path_key(std::string(item.path));
  const Bytes bytes = bytes_of(wanted);
  return std::equal(key.begin(), key.end(), bytes.begin(), bytes.end());
}

void expect_whole(const Transaction& transaction, Table table, Bytes key, Bytes record) {
  if (table == Table::paths) {
    if (!is_whole_path(transaction, key, record)) refuse_damaged_path(transaction.environment());
    return;
  }
  if (is_intact(transaction, table, key, record, Part::texts)) return;
  refuse_damaged(transaction.environment(), id_of(key));
}

// A damaged key is still between its neighbours: the search for it ends beside it.
void expect_whole_neighbours(const Transaction& transaction, Table table, Bytes key) {
  Cursor cursor(transaction, table);
  if (cursor.seek(key)) expect_whole(transaction, table, cursor.key(), cursor.value());
  if (cursor.previous()) expect_whole(transaction, table, cursor.key(), cursor.value());
}

std::optional<Bytes> found(const Transaction& transaction, Table table, std::int64_t id,
                           Part part) {
  const auto key = key_of(id);
  const auto record = transaction.find(table, key);
  if (!record) {
    expect_whole_neighbours(transaction, table, key);
    return std::nullopt;
  }
  if (!is_intact(transaction, table, key, *record, part)) {
    refuse_damaged(transaction.environment(), id);
  }
  return record;
}

}  // namespace

void refuse_damaged(const Environment& environment, std::int64_t id) {
  throw Error(ErrorKind::damaged,
              environment.folder() + ": item " + std::to_string(id) +
                  " is damaged: verify the gallery, which lists all of them",
              "verify");
}

std::uint64_t number_of(const Transaction& transaction, std::string_view name) {
  const auto record = transaction.find(Table::about, bytes_of(name));
  if (!record) return 0;
  if (const auto number = decode_number(name, *record)) return *number;
  const std::string& folder = transaction.environment().folder();
  throw damaged_error(folder + ": its number '" + std::string(name) + "' is damaged");
}

std::optional<std::int64_t> find_path(const Transaction& transaction, const std::string& path) {
  const std::string key = path_key(path);
  const auto record = transaction.find(Table::paths, bytes_of(key));
  if (!record) {
    expect_whole_neighbours(transaction, Table::paths, bytes_of(key));
    return std::nullopt;
  }
  expect_whole(transaction, Table::paths, bytes_of(key), *record);
  return id_of_path(*record);
}

std::optional<Bytes> find_item(const Transaction& transaction, std::int64_t id, Part part) {
  return found(transaction, Table::items, id, part);
}

std::optional<Bytes> find_global(const Transaction& transaction, std::int64_t id) {
  return found(transaction, Table::globals, id, Part::all);
}

bool is_intact(const Transaction& transaction, Table table, Bytes key, Bytes record, Part part) {
  if (has_quick_checksum(table, record)) return is_intact(table, key, record, part);
  SlowSums& known = transaction.environment().slow_sums(table);
  if (known.knows(id_of(key), stored_checksum(record))) return true;
  if (!is_intact(table, key, record)) return false;
  known.learn(id_of(key), stored_checksum(record));
  return true;
}

}  // namespace diml::gallery
