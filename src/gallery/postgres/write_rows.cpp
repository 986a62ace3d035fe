#include "write_rows.h"

#include <optional>
#include <unordered_map>

#include "diml/error.h"
#include "item_row.h"
#include "search/item_metadata.h"

namespace diml::postgres {

std::vector<NewRow> rows_of(std::span<const NewItem> items, Duplicates duplicates) {
  std::vector<NewRow> rows;
  std::unordered_map<std::string, std::size_t> places;
  for (const NewItem& item : items) {
    expect_label(item.label, item.path);
    NewRow row{&item, checked_metadata(item.metadata, item.path), "", path_digest(item.path)};
    row.searchable = searchable_metadata(row.metadata);
    const auto [there, is_new] = places.emplace(item.path, rows.size());
    if (!is_new) {
      if (duplicates == Duplicates::refuse) {
        throw Error(ErrorKind::conflict,
                    item.path + ": is in the gallery already: replace it, or leave it out",
                    "duplicates");
      }
      rows[there->second].is_superseded = true;
      there->second = rows.size();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::int64_t> take_out(Connection& connection, std::int64_t gallery,
                                   const std::vector<NewRow>& rows, Duplicates duplicates) {
  std::vector<std::string> digests;
  digests.reserve(rows.size());
  for (const NewRow& row : rows) digests.push_back(row.digest);
  const Result there = connection.ask(
      "SELECT id, path FROM diml.items WHERE gallery = $1::integer AND sha256(path) = ANY($2)",
      Parameters().add(gallery).add_bytes(digests));
  if (there.rows() == 0) return {};
  if (duplicates == Duplicates::refuse) {
    throw Error(ErrorKind::conflict,
                there.text(0, 1) + ": is in the gallery already: replace it, or leave it out",
                "duplicates");
  }
  std::vector<std::int64_t> ids;
  for (std::size_t row = 0; row < there.rows(); ++row) ids.push_back(there.number(row, 0));
  return ids;
}

void copy_rows(Connection& connection, std::int64_t gallery, const std::vector<NewRow>& rows,
               const GridSetView& grids, std::int64_t first_id) {
  constexpr std::size_t kColumns = 16;
  const std::size_t bytes = bytes_of_grid(grids.type, grids.cells_per_grid, grids.dim);
  CopyIn copy(
      connection,
      "COPY diml.items (gallery, id, path, label, metadata, metadata_text, source_size, "
      "source_modified, source_sha256, global, cells, thumbnail, words_checksum, "
      "vector_checksum, cells_checksum, thumbnail_checksum) FROM STDIN WITH (FORMAT binary)",
      kColumns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const NewRow& row = rows[i];
    if (row.is_superseded) continue;
    const NewItem& item = *row.item;
    const Item stored{first_id + static_cast<std::int64_t>(i), item.path, item.label, row.metadata,
                      item.source};
    const GridView grid = grids[i];
    const std::span<const float> global(grid.global, grid.dim);
    const Bytes cells{static_cast<const std::byte*>(grid.cells), bytes};
    const Bytes thumbnail = std::as_bytes(std::span(item.thumbnail));
    copy.begin_row();
    copy.put_int(static_cast<std::int32_t>(gallery));
    copy.put(stored.id);
    copy.put(bytes_of(item.path));
    copy.put(bytes_of(item.label));
    copy.put_json(row.searchable);
    copy.put(bytes_of(row.metadata));
    if (item.source) {
      copy.put(static_cast<std::int64_t>(item.source->size));
      copy.put(item.source->modified);
      copy.put(bytes_of(item.source->sha256));
    } else {
      for (int k = 0; k < 3; ++k) copy.put_null();
    }
    copy.put(global);
    copy.put(cells);
    copy.put(thumbnail);
    copy.put(words_checksum(stored));
    copy.put(vector_checksum(stored.id, bytes_of(item.label), global));
    copy.put(checksum_of(stored.id, cells));
    copy.put(checksum_of(stored.id, thumbnail));
  }
  copy.finish();
}

namespace {

// An item as it will be, and its global vector.
struct UpdatedRow {
  Item item;
  std::vector<float> global;
};

std::vector<UpdatedRow> updated_rows(Connection& connection, std::int64_t gallery, std::size_t dim,
                                     std::span<const ItemUpdate> updates) {
  static const std::string kStatement =
      std::string("SELECT ") + kWordColumns + ", " + kVectorColumns +
      " FROM diml.items WHERE gallery = $1::integer AND id = ANY($2)";
  const std::string& name = connection.address().shown;
  std::vector<std::int64_t> ids;
  for (const ItemUpdate& update : updates) ids.push_back(update.id);
  const Result found = connection.ask(kStatement, Parameters().add(gallery).add(ids));
  std::vector<UpdatedRow> rows;
  std::unordered_map<std::int64_t, std::size_t> places;
  for (std::size_t row = 0; row < found.rows(); ++row) {
    std::optional<Item> item = item_in(found, row);
    std::vector<float> global(dim);
    // A new checksum over damaged bytes would hide the damage.
    if (!item || !read_vector(found, row, global, kWordCount)) {
      throw Error(ErrorKind::damaged,
                  name + ": item " + std::to_string(found.number(row, 0)) +
                      " is damaged: verify the gallery, which lists all of them",
                  "verify");
    }
    places.emplace(item->id, row);
    rows.push_back({std::move(*item), std::move(global)});
  }
  for (const ItemUpdate& update : updates) {
    const auto place = places.find(update.id);
    if (place == places.end()) {
      throw Error(ErrorKind::not_found,
                  name + ": has no item " + std::to_string(update.id) + ": nothing was changed");
    }
    Item& item = rows[place->second].item;
    if (update.label) {
      expect_label(*update.label, item.path);
      item.label = *update.label;
    }
    if (update.metadata) item.metadata = checked_metadata(*update.metadata, item.path);
    if (update.source) item.source = update.source;
  }
  return rows;
}

}  // namespace

std::vector<std::int64_t> update_rows(Connection& connection, std::int64_t gallery, std::size_t dim,
                                      std::span<const ItemUpdate> updates) {
  std::vector<std::int64_t> ids;
  std::vector<std::string> labels;
  std::vector<std::string> metadata;
  std::vector<std::string> searchable;
  std::vector<std::int64_t> has_source;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> times;
  std::vector<std::string> sums;
  std::vector<std::int64_t> checksums;
  std::vector<std::int64_t> vector_checksums;
  for (const auto& [item, global] : updated_rows(connection, gallery, dim, updates)) {
    const SourceFile source = item.source.value_or(SourceFile());
    ids.push_back(item.id);
    labels.push_back(item.label);
    metadata.push_back(item.metadata);
    searchable.push_back(searchable_metadata(item.metadata));
    has_source.push_back(item.source.has_value());
    sizes.push_back(static_cast<std::int64_t>(source.size));
    times.push_back(source.modified);
    sums.push_back(source.sha256);
    checksums.push_back(words_checksum(item));
    vector_checksums.push_back(vector_checksum(item.id, bytes_of(item.label), global));
  }
  connection.ask(
      "UPDATE diml.items AS i SET label = u.label, metadata = u.searchable::jsonb, "
      "metadata_text = u.metadata, "
      "source_size = CASE WHEN u.has_source = 1 THEN u.size END, "
      "source_modified = CASE WHEN u.has_source = 1 THEN u.time END, "
      "source_sha256 = CASE WHEN u.has_source = 1 THEN u.sum END, words_checksum = u.checksum, "
      "vector_checksum = u.of_vector "
      "FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AS u (id, label, metadata, "
      "searchable, has_source, size, time, sum, checksum, of_vector) WHERE i.gallery = $1::integer "
      "AND i.id = u.id",
      Parameters()
          .add(gallery)
          .add(ids)
          .add_bytes(labels)
          .add_texts(metadata)
          .add_texts(searchable)
          .add(has_source)
          .add(sizes)
          .add(times)
          .add_texts(sums)
          .add(checksums)
          .add(vector_checksums));
  return ids;
}

}  // namespace diml::postgres
