#include "postgres_store.h"

#include <algorithm>
#include <random>
#include <set>
#include <thread>

#include <nlohmann/json.hpp>

#include "listener.h"
#include "schema.h"
#include "shards.h"
#include "write_rows.h"

namespace diml::postgres {
namespace {

using Json = nlohmann::json;

// A reader that is more than this many revisions behind reads everything again.
constexpr std::int64_t kRemembered = 65536;

// How long a change waits for a server that went away while it was made.
constexpr std::chrono::seconds kRetried{10};

Error no_gallery(const Address& address) {
  return {ErrorKind::not_found, address.shown + ": there is no gallery: create one",
          "create_gallery"};
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

}  // namespace

std::shared_ptr<PostgresStore> PostgresStore::create(const std::string& address,
                                                     const GridFormat& format) {
  check_grid_shape(format.cells_per_grid, format.dim);
  if (format.type == CellType::int8) {
    throw Error(ErrorKind::unsupported,
                "a gallery in PostgreSQL stores float16 or float32 cells, one on disk int8 too");
  }
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
    connection->ask("SELECT diml.make_gallery($1, $2, $3::integer, $4::integer, $5, $6, $7)",
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

std::shared_ptr<PostgresStore> PostgresStore::open(const std::string& address, StoreAccess access) {
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
  const Result row = connection.ask("SELECT items FROM diml.galleries WHERE name = $1 FOR UPDATE",
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
  const std::vector<NewRow> rows = rows_of(items, duplicates);
  const Change done = change([&](Connection& connection, Change& change) {
    change.removed = take_out(connection, gallery_.number, rows, duplicates);
    delete_rows(connection, change, change.removed);
    change.items -= static_cast<std::int64_t>(change.removed.size());
    copy_rows(connection, gallery_.number, rows, grids, change.first_new_id);
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
    change.updated = update_rows(connection, gallery_.number, gallery_.format.dim, updates);
  });
}

void PostgresStore::remove(std::span<const std::int64_t> ids) {
  if (ids.empty()) return;
  const std::set<std::int64_t> each(ids.begin(), ids.end());
  change([&](Connection& connection, Change& change) {
    change.removed.assign(each.begin(), each.end());
    const Result gone =
        connection.ask("SELECT id FROM diml.items WHERE gallery = $1::integer AND id = ANY($2)",
                       Parameters().add(gallery_.number).add(change.removed));
    if (gone.rows() != each.size()) {
      std::set<std::int64_t> missing = each;
      for (std::size_t row = 0; row < gone.rows(); ++row) missing.erase(gone.number(row, 0));
      throw Error(
          ErrorKind::not_found,
          name() + ": has no item " + std::to_string(*missing.begin()) + ": nothing was removed");
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

std::unique_ptr<ChangeListener> PostgresStore::listen() const {
  return std::make_unique<PostgresListener>(pool_->address(), gallery_.number);
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
