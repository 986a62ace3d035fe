#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>

#include "diml/error.h"
#include "lmdb_store.h"
#include "reading.h"

namespace diml::gallery {

LmdbSnapshot::LmdbSnapshot(std::shared_ptr<Environment> environment, const GridFormat& format)
    : environment_(std::move(environment)),
      transaction_(environment_, StoreAccess::read),
      format_(format) {}

void LmdbSnapshot::refuse_missing(std::int64_t id) const {
  throw Error(ErrorKind::not_found,
              environment_->folder() + ": has no item " + std::to_string(id) + ": list them",
              "list_items");
}

std::uint64_t LmdbSnapshot::revision() const { return number_of(transaction_, kRevision); }

Description LmdbSnapshot::description() const {
  const auto record = transaction_.find(Table::about, bytes_of(kDescription));
  return decode_description(record.value_or(Bytes()), environment_->folder());
}

std::uint64_t LmdbSnapshot::birth() const { return description().birth; }

std::size_t LmdbSnapshot::size() const { return transaction_.count(Table::globals); }

bool LmdbSnapshot::contains(std::int64_t id) const {
  return find_global(transaction_, id).has_value();
}

std::optional<std::int64_t> LmdbSnapshot::find(const std::string& path) const {
  return find_path(transaction_, path);
}

Bytes LmdbSnapshot::item_record(std::int64_t id, Part part) const {
  const auto record = find_item(transaction_, id, part);
  if (record) return *record;
  if (contains(id)) refuse_damaged(*environment_, id);
  refuse_missing(id);
}

Bytes LmdbSnapshot::global_record(std::int64_t id) const {
  const auto record = find_global(transaction_, id);
  if (!record) refuse_missing(id);
  return *record;
}

Item LmdbSnapshot::item(std::int64_t id) const {
  ItemRecord item;
  GlobalRecord global;
  if (!decode(item_record(id, Part::texts), item) ||
      !decode(global_record(id), format_.dim, global)) {
    refuse_damaged(*environment_, id);
  }
  return {id, std::string(item.path), global.label, std::string(item.metadata),
          source_in(item.source)};
}

std::vector<std::uint8_t> LmdbSnapshot::thumbnail(std::int64_t id) const {
  ItemRecord item;
  if (!decode(item_record(id, Part::texts), item)) refuse_damaged(*environment_, id);
  const auto* first = reinterpret_cast<const std::uint8_t*>(item.thumbnail.data());
  return {first, first + item.thumbnail.size()};
}

// LMDB keeps records at even addresses: cells of one or two bytes are always aligned, floats are
// not.
const std::byte* LmdbSnapshot::aligned(Bytes bytes, std::size_t alignment) const {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0) return bytes.data();
  return copies_.emplace_back(bytes.begin(), bytes.end()).data();
}

GridView LmdbSnapshot::grid(std::int64_t id) const {
  ItemRecord item;
  const std::size_t bytes = bytes_of_grid(format_.type, format_.cells_per_grid, format_.dim);
  if (!decode(item_record(id, Part::cells), item) || item.cells.size() != bytes) {
    refuse_damaged(*environment_, id);
  }
  return {aligned(item.cells, size_of(format_.type)), format_.type, format_.cells_per_grid,
          format_.dim, global(id)};
}

const float* LmdbSnapshot::global(std::int64_t id) const {
  GlobalRecord record;
  if (!decode(global_record(id), format_.dim, record)) refuse_damaged(*environment_, id);
  return reinterpret_cast<const float*>(aligned(record.global, alignof(float)));
}

void LmdbSnapshot::visit(std::int64_t first, const Visitor& visitor) const {
  Cursor cursor(transaction_, Table::globals);
  for (bool more = cursor.seek(key_of(first)); more; more = cursor.next()) {
    const std::int64_t id = id_of(cursor.key());
    GlobalRecord global;
    if (!is_intact(transaction_, Table::globals, cursor.key(), cursor.value()) ||
        !decode(cursor.value(), format_.dim, global)) {
      refuse_damaged(*environment_, id);
    }
    if (!visitor(id, global.label, global.global.data())) return;
  }
}

std::optional<StoreChanges> LmdbSnapshot::changes_since(std::uint64_t revision) const {
  // Those of older formats have no checksum.
  if (!environment_->has(Table::changes) || description().version < kSealedNumbers) {
    return std::nullopt;
  }
  StoreChanges all;
  std::set<std::int64_t> removed;
  std::set<std::int64_t> updated;
  std::uint64_t expected = revision + 1;
  Cursor cursor(transaction_, Table::changes);
  const std::uint64_t now = this->revision();
  for (bool more = cursor.seek(key_of(static_cast<std::int64_t>(expected))); more;
       more = cursor.next()) {
    if (id_of(cursor.key()) != static_cast<std::int64_t>(expected)) return std::nullopt;
    const auto numbers = decode_numbers(cursor.key(), cursor.value());
    if (!numbers || numbers->empty()) return std::nullopt;
    if (expected == revision + 1) all.first_new_id = numbers->front();
    for (std::size_t k = 1; k < numbers->size(); ++k) {
      const bool was_updated = (*numbers)[k] < 0;
      const std::int64_t id = was_updated ? ~(*numbers)[k] : (*numbers)[k];
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
