#include <cstring>

#include "diml/error.h"
#include "records.h"

namespace diml {

using gallery::Bytes;
using gallery::Cursor;
using gallery::GlobalRecord;
using gallery::ItemRecord;
using gallery::Table;
using gallery::Transaction;

namespace {

[[noreturn]] void refuse_damaged(const std::string& folder, std::int64_t id) {
  throw Error(ErrorKind::damaged, folder + ": item " + std::to_string(id) +
                                      " is damaged: 'diml index verify " + folder +
                                      "' tells of all that are");
}

}  // namespace

StoredGrids::StoredGrids(const GalleryFormat& format, std::size_t size)
    : type_(format.type),
      size_(size),
      cells_per_grid_(format.cells_per_grid),
      dim_(format.dim),
      grid_bytes_(format.cells_per_grid * format.dim * size_of(format.type)),
      cells_(size * grid_bytes_),
      globals_(size * format.dim) {}

GridSetView StoredGrids::view() const {
  return {cells_.data(), type_, size_, cells_per_grid_, dim_, globals_.data()};
}

GallerySnapshot::GallerySnapshot(std::shared_ptr<gallery::Environment> environment,
                                 const GalleryFormat& format)
    : environment_(std::move(environment)),
      transaction_(std::make_unique<Transaction>(environment_, GalleryAccess::read)),
      format_(format) {}
GallerySnapshot::~GallerySnapshot() = default;
GallerySnapshot::GallerySnapshot(GallerySnapshot&&) noexcept = default;

const std::string& GallerySnapshot::folder() const { return environment_->folder(); }

std::uint64_t GallerySnapshot::revision() const {
  const auto value = transaction_->find(Table::about, gallery::bytes_of(gallery::kRevision));
  return value ? gallery::number_in(*value) : 0;
}

std::uint64_t GallerySnapshot::birth() const {
  const auto record = transaction_->find(Table::about, gallery::bytes_of(gallery::kDescription));
  return gallery::decode_description(record.value_or(Bytes()), folder()).birth;
}

std::size_t GallerySnapshot::size() const { return transaction_->count(Table::globals); }

std::vector<std::int64_t> GallerySnapshot::ids() const {
  std::vector<std::int64_t> ids;
  ids.reserve(size());
  Cursor cursor(*transaction_, Table::globals);
  while (cursor.next()) ids.push_back(gallery::id_of(cursor.key()));
  return ids;
}

bool GallerySnapshot::contains(std::int64_t id) const {
  return transaction_->find(Table::globals, gallery::key_of(id)).has_value();
}

std::optional<std::int64_t> GallerySnapshot::find(const std::string& path) const {
  const std::string key = gallery::path_key(path);
  const auto value = transaction_->find(Table::paths, gallery::bytes_of(key));
  if (!value) return std::nullopt;
  return gallery::id_of(*value);
}

Bytes GallerySnapshot::item_record(std::int64_t id) const {
  const auto record = transaction_->find(Table::items, gallery::key_of(id));
  if (record) return *record;
  if (contains(id)) refuse_damaged(folder(), id);
  throw Error(ErrorKind::not_found, folder() + ": has no item " + std::to_string(id) +
                                        ": 'diml index info' tells which ids there are");
}

Bytes GallerySnapshot::global_record(std::int64_t id) const {
  const auto record = transaction_->find(Table::globals, gallery::key_of(id));
  if (record) return *record;
  throw Error(ErrorKind::not_found, folder() + ": has no item " + std::to_string(id) +
                                        ": 'diml index info' tells which ids there are");
}

GalleryItem GallerySnapshot::item(std::int64_t id) const {
  ItemRecord item;
  GlobalRecord global;
  if (!gallery::decode(item_record(id), item) ||
      !gallery::decode(global_record(id), format_.dim, global)) {
    refuse_damaged(folder(), id);
  }
  return {id, std::string(item.path), global.label, std::string(item.metadata)};
}

std::vector<std::uint8_t> GallerySnapshot::thumbnail(std::int64_t id) const {
  ItemRecord item;
  if (!gallery::decode(item_record(id), item)) refuse_damaged(folder(), id);
  const auto* first = reinterpret_cast<const std::uint8_t*>(item.thumbnail.data());
  return {first, first + item.thumbnail.size()};
}

void GallerySnapshot::read_cells(std::int64_t id, std::byte* out) const {
  ItemRecord item;
  const std::size_t bytes = format_.cells_per_grid * format_.dim * size_of(format_.type);
  if (!gallery::decode(item_record(id), item) || item.cells.size() != bytes) {
    refuse_damaged(folder(), id);
  }
  std::memcpy(out, item.cells.data(), bytes);
}

void GallerySnapshot::read_global(std::int64_t id, float* out) const {
  GlobalRecord global;
  if (!gallery::decode(global_record(id), format_.dim, global)) refuse_damaged(folder(), id);
  std::memcpy(out, global.global.data(), global.global.size());
}

StoredGrids GallerySnapshot::grids(std::span<const std::int64_t> ids) const {
  StoredGrids grids(format_, ids.size());
  for (std::size_t place = 0; place < ids.size(); ++place) {
    read_cells(ids[place], grids.cells_of(place));
    read_global(ids[place], grids.global_of(place));
  }
  return grids;
}

GalleryVectors GallerySnapshot::vectors(const Progress& progress) const {
  constexpr std::size_t kBetweenReports = 65536;
  const std::size_t count = size();
  GalleryVectors all;
  all.ids.reserve(count);
  all.labels.reserve(count);
  all.globals.resize(count * format_.dim);
  Cursor cursor(*transaction_, Table::globals);
  while (cursor.next() && all.ids.size() < count) {
    const std::int64_t id = gallery::id_of(cursor.key());
    GlobalRecord global;
    if (!gallery::decode(cursor.value(), format_.dim, global)) refuse_damaged(folder(), id);
    std::memcpy(&all.globals[all.ids.size() * format_.dim], global.global.data(),
                global.global.size());
    all.ids.push_back(id);
    all.labels.push_back(global.label);
    if (progress && all.ids.size() % kBetweenReports == 0) progress(all.ids.size(), count);
  }
  return all;
}

GalleryLabels GallerySnapshot::labels() const {
  GalleryLabels all;
  Cursor cursor(*transaction_, Table::globals);
  while (cursor.next()) {
    const std::int64_t id = gallery::id_of(cursor.key());
    GlobalRecord global;
    if (!gallery::decode(cursor.value(), format_.dim, global)) refuse_damaged(folder(), id);
    all.ids.push_back(id);
    all.labels.push_back(global.label);
  }
  return all;
}

}  // namespace diml
