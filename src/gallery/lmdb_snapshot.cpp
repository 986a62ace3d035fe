#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>

#include "diml/error.h"
#include "lmdb_store.h"
#include "records.h"

namespace diml::gallery {

LmdbSnapshot::LmdbSnapshot(std::shared_ptr<Environment> environment, const GridFormat& format)
    : environment_(std::move(environment)),
      transaction_(environment_, StoreAccess::read),
      format_(format) {}

void LmdbSnapshot::refuse_damaged(std::int64_t id) const {
  throw Error(
      ErrorKind::damaged,
      environment_->folder() + ": item " + std::to_string(id) + " is damaged: verify the gallery",
      "verify");
}

void LmdbSnapshot::refuse_missing(std::int64_t id) const {
  throw Error(ErrorKind::not_found,
              environment_->folder() + ": has no item " + std::to_string(id) + ": list them",
              "list_items");
}

std::uint64_t LmdbSnapshot::revision() const {
  const auto value = transaction_.find(Table::about, bytes_of(kRevision));
  return value ? number_in(*value) : 0;
}

std::uint64_t LmdbSnapshot::birth() const {
  const auto record = transaction_.find(Table::about, bytes_of(kDescription));
  return decode_description(record.value_or(Bytes()), environment_->folder()).birth;
}

std::size_t LmdbSnapshot::size() const { return transaction_.count(Table::globals); }

bool LmdbSnapshot::contains(std::int64_t id) const {
  return transaction_.find(Table::globals, key_of(id)).has_value();
}

std::optional<std::int64_t> LmdbSnapshot::find(const std::string& path) const {
  const std::string key = path_key(path);
  const auto value = transaction_.find(Table::paths, bytes_of(key));
  if (!value) return std::nullopt;
  return id_of(*value);
}

Bytes LmdbSnapshot::item_record(std::int64_t id) const {
  const auto record = transaction_.find(Table::items, key_of(id));
  if (record) return *record;
  if (contains(id)) refuse_damaged(id);
  refuse_missing(id);
}

Bytes LmdbSnapshot::global_record(std::int64_t id) const {
  const auto record = transaction_.find(Table::globals, key_of(id));
  if (!record) refuse_missing(id);
  return *record;
}

Item LmdbSnapshot::item(std::int64_t id) const {
  ItemRecord item;
  GlobalRecord global;
  if (!decode(item_record(id), item) || !decode(global_record(id), format_.dim, global)) {
    refuse_damaged(id);
  }
  return {id, std::string(item.path), global.label, std::string(item.metadata),
          source_in(item.source)};
}

std::vector<std::uint8_t> LmdbSnapshot::thumbnail(std::int64_t id) const {
  ItemRecord item;
  if (!decode(item_record(id), item)) refuse_damaged(id);
  const auto* first = reinterpret_cast<const std::uint8_t*>(item.thumbnail.data());
  return {first, first + item.thumbnail.size()};
}

// LMDB keeps records at even addresses: float16 cells are always aligned, floats are not.
const std::byte* LmdbSnapshot::aligned(Bytes bytes, std::size_t alignment) const {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0) return bytes.data();
  return copies_.emplace_back(bytes.begin(), bytes.end()).data();
}

GridView LmdbSnapshot::grid(std::int64_t id) const {
  ItemRecord item;
  const std::size_t bytes = format_.cells_per_grid * format_.dim * size_of(format_.type);
  if (!decode(item_record(id), item) || item.cells.size() != bytes) refuse_damaged(id);
  return {aligned(item.cells, size_of(format_.type)), format_.type, format_.cells_per_grid,
          format_.dim, global(id)};
}

const float* LmdbSnapshot::global(std::int64_t id) const {
  GlobalRecord record;
  if (!decode(global_record(id), format_.dim, record)) refuse_damaged(id);
  return reinterpret_cast<const float*>(aligned(record.global, alignof(float)));
}

void LmdbSnapshot::visit(std::int64_t first, const Visitor& visitor) const {
  Cursor cursor(transaction_, Table::globals);
  for (bool more = cursor.seek(key_of(first)); more; more = cursor.next()) {
    const std::int64_t id = id_of(cursor.key());
    GlobalRecord global;
    if (!decode(cursor.value(), format_.dim, global)) refuse_damaged(id);
    if (!visitor(id, global.label, global.global.data())) return;
  }
}

std::optional<StoreChanges> LmdbSnapshot::changes_since(std::uint64_t revision) const {
  if (!environment_->has(Table::changes)) return std::nullopt;
  StoreChanges all;
  std::set<std::int64_t> removed;
  std::set<std::int64_t> updated;
  std::uint64_t expected = revision + 1;
  Cursor cursor(transaction_, Table::changes);
  const std::uint64_t now = this->revision();
  for (bool more = cursor.seek(key_of(static_cast<std::int64_t>(expected))); more;
       more = cursor.next()) {
    if (id_of(cursor.key()) != static_cast<std::int64_t>(expected)) return std::nullopt;
    const std::vector<std::int64_t> numbers = decode_numbers(cursor.value());
    if (numbers.empty()) return std::nullopt;
    if (expected == revision + 1) all.first_new_id = numbers[0];
    for (std::size_t k = 1; k < numbers.size(); ++k) {
      const bool was_updated = numbers[k] < 0;
      const std::int64_t id = was_updated ? ~numbers[k] : numbers[k];
      if (id < all.first_new_id) (was_updated ? updated : removed).insert(id);
    }
    ++expected;
  }
  if (expected != now + 1 || expected == revision + 1) return std::nullopt;
  all.removed.assign(removed.begin(), removed.end());
  std::set_difference(updated.begin(), updated.end(), removed.begin(), removed.end(),
                      std::back_inserter(all.updated));
  return all;
}

}  // namespace diml::gallery
