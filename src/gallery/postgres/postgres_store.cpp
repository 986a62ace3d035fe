#include "postgres_store.h"

#include <algorithm>
#include <random>
#include <set>
#include <thread>

#include <nlohmann/json.hpp>

#include "item_row.h"
#include "schema.h"
#include "shards.h"
#include "search/item_metadata.h"

namespace diml::postgres {
namespace {

using Json = nlohmann::json;

// A reader that is more than this many revisions behind reads everything again.
constexpr std::int64_t kRemembered = 65536;

// How long a change waits for a server that went away while it was made.
constexpr std::chrono::seconds kRetried{10};

Error no_gallery(const Address& address) {
  return {ErrorKind::not_found, address.shown + ": there is no gallery: 'diml index build " +
                                    address.shown + "' makes one"};
}

std::optional<GalleryRow> find_gallery(Connection& connection) {
  if (!has_schema(connection)) return std::nullopt;
  const Result found = connection.ask(
      "SELECT id, birth, cells_per_grid, dim, cell_type, embedding::text, model, shards "
      "FROM diml.galleries WHERE name = $1",
      Parameters().add_text(connection.address().gallery));
  if (found.rows() == 0) return std::nullopt;
  GalleryRow gallery{found.number(0, 0), static_cast<std::uint64_t>(found.number(0, 1)), {}};
  gallery.shards = found.number(0, 7);
  try {
    gallery.format.cells_per_grid = static_cast<std::size_t>(found.number(0, 2));
    gallery.format.dim = static_cast<std::size_t>(found.number(0, 3));
    gallery.format.type = cell_type_from(found.text(0, 4));
    gallery.format.embedding =
        Json::parse(found.text(0, 5)).get<std::map<std::string, std::string>>();
    gallery.format.model = found.text(0, 6);
    check_grid_shape(gallery.format.cells_per_grid, gallery.format.dim);
  } catch (const std::exception&) {  // whatever it is, this is what to do
    throw Error(ErrorKind::damaged,
                connection.address().shown +
                    ": its row in diml.galleries is damaged: take a copy from a backup");
  }
  return gallery;
}

std::string random_text() {
  std::random_device device;
  std::string text;
  for (int k = 0; k < 4; ++k) text += std::to_string(device()) + (k < 3 ? "-" : "");
  return text;
}

// Valid UTF-8 without zero bytes, as `text` takes it.
std::string as_text(const std::string& bytes) {
  std::string text = Json(bytes).dump(-1, ' ', false, Json::error_handler_t::replace);
  text = Json::parse(text).get<std::string>();
  std::erase(text, '\0');
  return text;
}

std::string in_one_line(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += (all.empty() ? "" : "; ") + line;
  return all;
}

// An item to add, with everything that does not depend on its id.
struct Row {
  const NewItem* item;
  std::string metadata;
  std::string searchable;
  std::string digest;
  bool is_superseded = false;  // by a later item of the same path in the same call
};

std::vector<Row> rows_of(std::span<const NewItem> items, Duplicates duplicates) {
  std::vector<Row> rows;
  std::unordered_map<std::string, std::size_t> places;
  for (const NewItem& item : items) {
    expect_label(item.label, item.path);
    Row row{&item, checked_metadata(item.metadata, item.path), "", path_digest(item.path)};
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

// The items whose paths are there: those are to be removed, or everything is refused.
std::vector<std::int64_t> take_out(Connection& connection, std::int64_t gallery,
                                   const std::vector<Row>& rows, Duplicates duplicates) {
  std::vector<std::string> digests;
  digests.reserve(rows.size());
  for (const Row& row : rows) digests.push_back(row.digest);
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

void copy_in(Connection& connection, const GalleryRow& gallery, const std::vector<Row>& rows,
             const GridSetView& grids, std::int64_t first_id) {
  constexpr std::size_t kColumns = 14;
  const std::size_t bytes = grids.cells_per_grid * grids.dim * size_of(grids.type);
  CopyIn copy(connection,
              "COPY diml.items (gallery, id, path, label, metadata, metadata_text, source_size, "
              "source_modified, source_sha256, global, cells, thumbnail, words_checksum, "
              "grid_checksum) FROM STDIN WITH (FORMAT binary)",
              kColumns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (row.is_superseded) continue;
    const NewItem& item = *row.item;
    const Item stored{first_id + static_cast<std::int64_t>(i), item.path, item.label, row.metadata,
                      item.source};
    const GridView grid = grids[i];
    const std::span<const float> global(grid.global, grid.dim);
    const Bytes cells{static_cast<const std::byte*>(grid.cells), bytes};
    const Bytes thumbnail = std::as_bytes(std::span(item.thumbnail));
    copy.begin_row();
    copy.put_int(static_cast<std::int32_t>(gallery.number));
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
    copy.put(grid_checksum(stored.id, global, cells, thumbnail));
  }
  copy.finish();
}

// The items to update, each once, as they will be.
std::vector<Item> updated_items(Connection& connection, const GalleryRow& gallery,
                                std::span<const ItemUpdate> updates) {
  static const std::string kStatement =
      std::string("SELECT ") + kWordColumns +
      ", words_checksum FROM diml.items WHERE gallery = $1::integer AND id = ANY($2)";
  const std::string& name = connection.address().shown;
  std::vector<std::int64_t> ids;
  for (const ItemUpdate& update : updates) ids.push_back(update.id);
  const Result rows = connection.ask(kStatement, Parameters().add(gallery.number).add(ids));
  std::vector<Item> items;
  std::unordered_map<std::int64_t, std::size_t> places;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    items.push_back(item_in(rows, row));
    // A new checksum over damaged bytes would hide the damage.
    if (rows.number(row, 7) != words_checksum(items.back())) {
      throw Error(ErrorKind::damaged, name + ": item " + std::to_string(items.back().id) +
                                          " is damaged: 'diml index verify " + name +
                                          "' lists all damaged items");
    }
    places.emplace(items.back().id, row);
  }
  for (const ItemUpdate& update : updates) {
    const auto place = places.find(update.id);
    if (place == places.end()) {
      throw Error(ErrorKind::not_found,
                  name + ": has no item " + std::to_string(update.id) + ": nothing was changed");
    }
    Item& item = items[place->second];
    if (update.label) {
      expect_label(*update.label, item.path);
      item.label = *update.label;
    }
    if (update.metadata) item.metadata = checked_metadata(*update.metadata, item.path);
    if (update.source) item.source = update.source;
  }
  return items;
}

void write_words(Connection& connection, const GalleryRow& gallery,
                 const std::vector<Item>& items) {
  std::vector<std::int64_t> ids;
  std::vector<std::string> labels;
  std::vector<std::string> metadata;
  std::vector<std::string> searchable;
  std::vector<std::int64_t> has_source;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> times;
  std::vector<std::string> sums;
  std::vector<std::int64_t> checksums;
  for (const Item& item : items) {
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
  }
  connection.ask(
      "UPDATE diml.items AS i SET label = u.label, metadata = u.searchable::jsonb, "
      "metadata_text = u.metadata, "
      "source_size = CASE WHEN u.has_source = 1 THEN u.size END, "
      "source_modified = CASE WHEN u.has_source = 1 THEN u.time END, "
      "source_sha256 = CASE WHEN u.has_source = 1 THEN u.sum END, words_checksum = u.checksum "
      "FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10) AS u (id, label, metadata, searchable, "
      "has_source, size, time, sum, checksum) WHERE i.gallery = $1::integer AND i.id = u.id",
      Parameters()
          .add(gallery.number)
          .add(ids)
          .add_bytes(labels)
          .add_texts(metadata)
          .add_texts(searchable)
          .add(has_source)
          .add(sizes)
          .add(times)
          .add_texts(sums)
          .add(checksums));
}

}  // namespace

std::shared_ptr<PostgresStore> PostgresStore::create(const std::string& address,
                                                     const GridFormat& format) {
  check_grid_shape(format.cells_per_grid, format.dim);
  const auto pool = std::make_shared<Pool>(address_from(address));
  std::string caution;
  {
    const Pool::Lease connection = pool->take();
    caution = in_one_line(migrate(*connection));
    if (find_gallery(*connection)) {
      throw Error(ErrorKind::conflict, pool->address().shown +
                                           ": is already a gallery: open it to continue with it; a "
                                           "new one needs another name");
    }
    std::random_device device;
    // 53 bits: other programs read JSON's numbers as doubles.
    const std::uint64_t birth = (static_cast<std::uint64_t>(device()) << 21) ^ device();
    const Json embedding = format.embedding;
    connection->ask(
        "SELECT diml.make_gallery($1, $2, $3::integer, $4::integer, $5, $6, $7)",
        Parameters()
            .add_text(pool->address().gallery)
            .add(static_cast<std::int64_t>(birth))
            .add(static_cast<std::int64_t>(format.cells_per_grid))
            .add(static_cast<std::int64_t>(format.dim))
            .add_text(name_of(format.type))
            .add_text(embedding.dump(-1, ' ', false, Json::error_handler_t::replace))
            .add_text(as_text(format.model)));
  }
  std::optional<GalleryRow> gallery = find_gallery(*pool->take());
  if (!gallery) throw no_gallery(pool->address());
  return std::make_shared<PostgresStore>(pool, std::move(*gallery), StoreAccess::write, caution);
}

std::shared_ptr<PostgresStore> PostgresStore::open(const std::string& address,
                                                   StoreAccess access) {
  const auto pool = std::make_shared<Pool>(address_from(address));
  std::optional<GalleryRow> gallery;
  std::string caution;
  {
    const Pool::Lease connection = pool->take();
    const bool is_there =
        access == StoreAccess::write &&
        connection->ask("SELECT to_regclass('diml.migrations') IS NOT NULL").number(0, 0) != 0;
    if (is_there) caution = in_one_line(migrate(*connection));
    gallery = find_gallery(*connection);
  }
  if (!gallery) throw no_gallery(pool->address());
  return std::make_shared<PostgresStore>(pool, std::move(*gallery), access, caution);
}

bool PostgresStore::exists(const std::string& address) {
  Connection connection(address_from(address));
  return find_gallery(connection).has_value();
}

bool PostgresStore::remove_empty(const std::string& address) {
  Connection connection(address_from(address));
  Transaction transaction(connection, "BEGIN");
  const Result row =
      connection.ask("SELECT items FROM diml.galleries WHERE name = $1 FOR UPDATE",
                     Parameters().add_text(connection.address().gallery));
  if (row.rows() == 0 || row.number(0, 0) > 0) return false;
  connection.ask("SELECT diml.drop_gallery($1)",
                 Parameters().add_text(connection.address().gallery));
  transaction.commit();
  return true;
}

PostgresStore::PostgresStore(std::shared_ptr<Pool> pool, GalleryRow gallery, StoreAccess access,
                             std::string caution)
    : pool_(std::move(pool)),
      gallery_(std::move(gallery)),
      access_(access),
      caution_(std::move(caution)) {}

std::unique_ptr<GridSnapshot> PostgresStore::snapshot() const {
  return std::make_unique<PostgresSnapshot>(pool_, gallery_);
}

PostgresStore::Change PostgresStore::change(const Work& work) {
  if (access_ == StoreAccess::read) throw Error(name() + ": is open for reading only");
  const std::string call = random_text();
  BackOff pauses;
  const auto end = std::chrono::steady_clock::now() + kRetried;
  for (bool was_begun = false;;) {
    bool may_pass = was_begun;  // a server that went away may be on its way back
    try {
      const Pool::Lease lease = pool_->take();
      may_pass = false;
      try {
        return change_once(*lease, work, call, was_begun);
      } catch (const Error&) {
        may_pass = lease->may_succeed_again();
        throw;
      }
    } catch (const Error& error) {
      if (!may_pass) throw;
      was_begun = true;
      pool_->forget_idle();
      if (std::chrono::steady_clock::now() > end) {
        throw Error(error.kind(),
                    error.what() + std::string("; the change may have been made: look, and repeat "
                                               "it where it was not"),
                    kMayBeMade);
      }
      std::this_thread::sleep_for(pauses.next());
    }
  }
}

PostgresStore::Change PostgresStore::change_once(Connection& connection, const Work& work,
                                                 const std::string& call, bool is_again) const {
  Transaction transaction(connection, "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED");
  const Result row = connection.ask(
      "SELECT revision, next_id, items, leaving FROM diml.galleries WHERE id = $1::integer FOR "
      "UPDATE",
      Parameters().add(gallery_.number));
  if (row.rows() == 0) throw Error(ErrorKind::not_found, name() + ": the gallery was deleted");
  Change change{row.number(0, 0), row.number(0, 1), row.number(0, 2)};
  if (is_again) {
    const Result done = connection.ask(
        "SELECT first_new_id, count FROM diml.changes WHERE gallery = $1::integer AND call = $2",
        Parameters().add(gallery_.number).add_text(call));
    if (done.rows() > 0) {
      change.first_new_id = done.number(0, 0);
      change.added = done.number(0, 1);
      return change;
    }
  }
  if (gallery_.shards > 0) {
    // Rows that do not count: of items that were removed, and of a change that was not committed.
    connection.ask(
        "DELETE FROM diml.items WHERE gallery = $1::integer AND (id >= $2 OR id = ANY($3))",
        Parameters().add(gallery_.number).add(change.first_new_id).add(row.numbers(0, 3)));
  }
  work(connection, change);
  connection.ask(
      "WITH g AS (UPDATE diml.galleries SET revision = $2, next_id = $3, items = $4, "
      "leaving = $11 "
      "WHERE id = $1::integer), "
      "c AS (INSERT INTO diml.changes (gallery, revision, first_new_id, count, removed, updated, "
      "call) VALUES ($1::integer, $2, $5, $6, $7, $8, $9)), "
      "d AS (DELETE FROM diml.changes WHERE gallery = $1::integer AND revision <= $10) "
      "SELECT pg_notify('diml', ($1::integer)::text)",
      Parameters()
          .add(gallery_.number)
          .add(change.revision + 1)
          .add(change.first_new_id + change.added)
          .add(change.items)
          .add(change.first_new_id)
          .add(change.added)
          .add(change.removed)
          .add(change.updated)
          .add_text(call)
          .add(change.revision + 1 - kRemembered)
          .add(change.leaving));
  transaction.commit();
  return change;
}

// Those of shards go later: what servers commit is not one moment, and the row of the gallery says
// which rows count.
void PostgresStore::delete_rows(Connection& connection, Change& change,
                                std::vector<std::int64_t> ids) const {
  if (ids.empty()) return;
  if (gallery_.shards > 0) {
    std::sort(ids.begin(), ids.end());
    change.leaving = std::move(ids);
    return;
  }
  connection.ask("DELETE FROM diml.items WHERE gallery = $1::integer AND id = ANY($2)",
                 Parameters().add(gallery_.number).add(ids));
}

std::vector<std::int64_t> PostgresStore::add(std::span<const NewItem> items,
                                             const GridSetView& grids, Duplicates duplicates) {
  expect_fit(gallery_.format, items.size(), grids);
  if (items.empty()) return {};
  const std::vector<Row> rows = rows_of(items, duplicates);
  const Change done = change([&](Connection& connection, Change& change) {
    change.removed = take_out(connection, gallery_.number, rows, duplicates);
    delete_rows(connection, change, change.removed);
    change.items -= static_cast<std::int64_t>(change.removed.size());
    copy_in(connection, gallery_, rows, grids, change.first_new_id);
    change.added = static_cast<std::int64_t>(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].is_superseded) {
        change.removed.push_back(change.first_new_id + static_cast<std::int64_t>(i));
      } else {
        ++change.items;
      }
    }
  });
  std::vector<std::int64_t> ids(items.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = done.first_new_id + static_cast<std::int64_t>(i);
  }
  return ids;
}

void PostgresStore::update(std::span<const ItemUpdate> updates) {
  if (updates.empty()) return;
  change([&](Connection& connection, Change& change) {
    const std::vector<Item> items = updated_items(connection, gallery_, updates);
    write_words(connection, gallery_, items);
    for (const Item& item : items) change.updated.push_back(item.id);
  });
}

void PostgresStore::remove(std::span<const std::int64_t> ids) {
  if (ids.empty()) return;
  const std::set<std::int64_t> each(ids.begin(), ids.end());
  change([&](Connection& connection, Change& change) {
    change.removed.assign(each.begin(), each.end());
    const Result gone = connection.ask(
        "SELECT id FROM diml.items WHERE gallery = $1::integer AND id = ANY($2)",
        Parameters().add(gallery_.number).add(change.removed));
    if (gone.rows() != each.size()) {
      std::set<std::int64_t> missing = each;
      for (std::size_t row = 0; row < gone.rows(); ++row) missing.erase(gone.number(row, 0));
      throw Error(ErrorKind::not_found, name() + ": has no item " +
                                            std::to_string(*missing.begin()) +
                                            ": nothing was removed");
    }
    delete_rows(connection, change, change.removed);
    change.items -= static_cast<std::int64_t>(each.size());
  });
}

// What is free for reuse is known to the database's vacuum alone.
GridStore::Space PostgresStore::space() const {
  return with_connection(pool_, [&](Connection& connection) -> Space {
    if (gallery_.shards > 0) return {bytes_of_shards(connection, gallery_), 0};
    const Result size = connection.ask(
        "SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0)::bigint FROM pg_inherits "
        "WHERE inhparent = 'diml.items'::regclass AND inhrelid = "
        "to_regclass('diml.items_' || $1::integer)",
        Parameters().add(gallery_.number));
    return {static_cast<std::uint64_t>(size.number(0, 0)), 0};
  });
}

void PostgresStore::await_writers_turn() const {
  with_connection(pool_, [&](Connection& connection) {
    Transaction turn(connection, "BEGIN");  // ends without a change
    connection.ask("SELECT FROM diml.galleries WHERE id = $1::integer FOR UPDATE",
                   Parameters().add(gallery_.number));
    return true;
  });
}

}  // namespace diml::postgres
