#include <algorithm>
#include <iterator>
#include <set>

#include "item_row.h"
#include "postgres_store.h"

namespace diml::postgres {
namespace {

constexpr std::size_t kItemsAtOnce = 1024;   // that are named
constexpr std::int64_t kVisitedAtOnce = 8192;  // globals

// The ids that are asked for, each once, in parts.
template <class Part>
void in_parts(std::vector<std::int64_t> ids, const Part& part) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (std::size_t first = 0; first < ids.size(); first += kItemsAtOnce) {
    part(std::span(ids).subspan(first, std::min(kItemsAtOnce, ids.size() - first)));
  }
}

}  // namespace

PostgresSnapshot::Opened PostgresSnapshot::opened(const std::shared_ptr<Pool>& pool,
                                                  const GalleryRow& gallery) {
  const auto begin = [&](Pool::Lease& lease) -> Opened {
    auto transaction = std::make_unique<Transaction>(
        *lease, "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY");
    Result about =
        lease->ask("SELECT revision, items, next_id FROM diml.galleries WHERE id = $1::integer",
                   Parameters().add(gallery.number));
    return {std::move(lease), std::move(transaction), std::move(about)};
  };
  {
    Pool::Lease lease = pool->take();
    const bool is_kept = !lease.is_new();
    try {
      return begin(lease);
    } catch (const Error&) {
      if (!is_kept || !lease->is_lost()) throw;  // a kept one may be lost without a word
    }
  }
  pool->forget_idle();
  Pool::Lease lease = pool->take();
  return begin(lease);
}

PostgresSnapshot::PostgresSnapshot(const std::shared_ptr<Pool>& pool, const GalleryRow& gallery)
    : PostgresSnapshot(opened(pool, gallery), gallery) {}

PostgresSnapshot::PostgresSnapshot(Opened opened, const GalleryRow& gallery)
    : gallery_(gallery),
      lease_(std::move(opened.lease)),
      transaction_(std::move(opened.transaction)) {
  const Result& about = opened.about;
  if (about.rows() == 0) {
    throw Error(ErrorKind::not_found, name() + ": the gallery was deleted");
  }
  revision_ = static_cast<std::uint64_t>(about.number(0, 0));
  size_ = static_cast<std::size_t>(about.number(0, 1));
  next_id_ = about.number(0, 2);
}

Result PostgresSnapshot::ask(const char* statement, const Parameters& parameters) const {
  return lease_->ask(statement, parameters);
}

Parameters PostgresSnapshot::of_gallery() const { return Parameters().add(gallery_.number); }

void PostgresSnapshot::refuse_damaged(std::int64_t id) const {
  throw Error(ErrorKind::damaged, name() + ": item " + std::to_string(id) +
                                      " is damaged: 'diml index verify " + name() +
                                      "' lists all damaged items");
}

void PostgresSnapshot::refuse_missing(std::int64_t id) const {
  throw Error(ErrorKind::not_found, name() + ": has no item " + std::to_string(id) +
                                        ": 'diml index info' shows which ids exist");
}

bool PostgresSnapshot::contains(std::int64_t id) const {
  return ask("SELECT FROM diml.items WHERE gallery = $1::integer AND id = $2",
             of_gallery().add(id))
             .rows() > 0;
}

std::optional<std::int64_t> PostgresSnapshot::find(const std::string& path) const {
  const Result found =
      ask("SELECT id FROM diml.items WHERE gallery = $1::integer AND sha256(path) = $2",
          of_gallery().add_bytes(bytes_of(path_digest(path))));
  if (found.rows() == 0) return std::nullopt;
  return found.number(0, 0);
}

Item PostgresSnapshot::item(std::int64_t id) const { return items({&id, 1}).front(); }

std::vector<Item> PostgresSnapshot::items(std::span<const std::int64_t> ids) const {
  static const std::string kStatement =
      std::string("SELECT ") + kWordColumns +
      " FROM diml.items WHERE gallery = $1::integer AND id = ANY($2)";
  std::unordered_map<std::int64_t, Item> found;
  in_parts({ids.begin(), ids.end()}, [&](std::span<const std::int64_t> part) {
    const Result rows = ask(kStatement.c_str(), of_gallery().add(part));
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      Item item = item_in(rows, row);
      const std::int64_t id = item.id;
      found.emplace(id, std::move(item));
    }
  });
  std::vector<Item> items;
  items.reserve(ids.size());
  for (const std::int64_t id : ids) {
    const auto one = found.find(id);
    if (one == found.end()) refuse_missing(id);
    items.push_back(one->second);
  }
  return items;
}

std::vector<std::uint8_t> PostgresSnapshot::thumbnail(std::int64_t id) const {
  const Result found =
      ask("SELECT thumbnail FROM diml.items WHERE gallery = $1::integer AND id = $2",
          of_gallery().add(id));
  if (found.rows() == 0) refuse_missing(id);
  const Bytes bytes = found.bytes(0, 0);
  const auto* const first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return {first, first + bytes.size()};
}

GridView PostgresSnapshot::grid(std::int64_t id) const { return grids({&id, 1}).front(); }

std::vector<GridView> PostgresSnapshot::grids(std::span<const std::int64_t> ids) const {
  const GridFormat& format = gallery_.format;
  const std::size_t bytes = format.cells_per_grid * format.dim * size_of(format.type);
  std::vector<std::int64_t> wanted;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(wanted),
               [&](std::int64_t id) { return !grids_.contains(id); });
  in_parts(std::move(wanted), [&](std::span<const std::int64_t> part) {
    const Result rows =
        ask("SELECT id, global, cells FROM diml.items WHERE gallery = $1::integer AND id = ANY($2)",
            of_gallery().add(part));
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      const std::int64_t id = rows.number(row, 0);
      HeldGrid held;
      held.global.resize(format.dim);
      const Bytes cells = rows.bytes(row, 2);
      if (!rows.read_floats(row, 1, held.global) || cells.size() != bytes) refuse_damaged(id);
      held.cells.assign(cells.begin(), cells.end());
      grids_.emplace(id, std::move(held));
    }
  });
  std::vector<GridView> grids;
  grids.reserve(ids.size());
  for (const std::int64_t id : ids) {
    const auto held = grids_.find(id);
    if (held == grids_.end()) refuse_missing(id);
    grids.push_back({held->second.cells.data(), format.type, format.cells_per_grid, format.dim,
                     held->second.global.data()});
  }
  return grids;
}

const float* PostgresSnapshot::global(std::int64_t id) const {
  if (const auto held = grids_.find(id); held != grids_.end()) return held->second.global.data();
  if (const auto held = globals_.find(id); held != globals_.end()) return held->second.data();
  const Result found =
      ask("SELECT global FROM diml.items WHERE gallery = $1::integer AND id = $2",
          of_gallery().add(id));
  if (found.rows() == 0) refuse_missing(id);
  std::vector<float> global(gallery_.format.dim);
  if (!found.read_floats(0, 0, global)) refuse_damaged(id);
  return globals_.emplace(id, std::move(global)).first->second.data();
}

std::vector<std::int64_t> PostgresSnapshot::ids() const {
  const Result rows =
      ask("SELECT id FROM diml.items WHERE gallery = $1::integer ORDER BY id", of_gallery());
  std::vector<std::int64_t> ids(rows.rows());
  for (std::size_t row = 0; row < ids.size(); ++row) ids[row] = rows.number(row, 0);
  return ids;
}

// Part by part, so that the visitor may ask the snapshot too.
void PostgresSnapshot::visit(std::int64_t first, const Visitor& visitor) const {
  std::vector<float> global(gallery_.format.dim);
  for (std::int64_t from = first;;) {
    const Result rows =
        ask("SELECT id, label, global FROM diml.items WHERE gallery = $1::integer AND id >= $2 "
            "ORDER BY id LIMIT $3",
            of_gallery().add(from).add(kVisitedAtOnce));
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      const std::int64_t id = rows.number(row, 0);
      if (!rows.read_floats(row, 2, global)) refuse_damaged(id);
      const Bytes label = rows.bytes(row, 1);
      if (!visitor(id, {reinterpret_cast<const char*>(label.data()), label.size()},
                   global.data())) {
        return;
      }
      from = id + 1;
    }
    if (rows.rows() < static_cast<std::size_t>(kVisitedAtOnce)) return;
  }
}

std::optional<StoreChanges> PostgresSnapshot::changes_since(std::uint64_t revision) const {
  if (revision >= revision_) return std::nullopt;
  const Result rows =
      ask("SELECT first_new_id, removed, updated FROM diml.changes WHERE gallery = $1::integer AND "
          "revision > $2 AND revision <= $3 ORDER BY revision",
          of_gallery()
              .add(static_cast<std::int64_t>(revision))
              .add(static_cast<std::int64_t>(revision_)));
  if (rows.rows() != revision_ - revision) return std::nullopt;  // some are forgotten
  StoreChanges all;
  all.first_new_id = rows.number(0, 0);
  std::set<std::int64_t> removed;
  std::set<std::int64_t> updated;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    for (const std::int64_t id : rows.numbers(row, 1)) {
      if (id < all.first_new_id) removed.insert(id);
    }
    for (const std::int64_t id : rows.numbers(row, 2)) {
      if (id < all.first_new_id) updated.insert(id);
    }
  }
  all.removed.assign(removed.begin(), removed.end());
  std::set_difference(updated.begin(), updated.end(), removed.begin(), removed.end(),
                      std::back_inserter(all.updated));
  return all;
}

StoreFaults PostgresSnapshot::verify(const Progress& progress) const {
  constexpr std::int64_t kVerifiedAtOnce = 256;
  static const std::string kStatement =
      std::string("SELECT ") + kWordColumns +
      ", global, cells, thumbnail, words_checksum, grid_checksum FROM diml.items "
      "WHERE gallery = $1::integer AND id >= $2 ORDER BY id LIMIT $3";
  const GridFormat& format = gallery_.format;
  const std::size_t bytes = format.cells_per_grid * format.dim * size_of(format.type);
  StoreFaults result;
  std::set<std::int64_t> damaged;
  const auto blame = [&](std::int64_t id, const std::string& what) {
    damaged.insert(id);
    result.faults.push_back("item " + std::to_string(id) + ": " + what);
  };
  std::vector<float> global(format.dim);
  for (std::int64_t from = 0;;) {
    const Result rows = ask(kStatement.c_str(), of_gallery().add(from).add(kVerifiedAtOnce));
    std::vector<std::int64_t> intact;      // whose words are,
    std::vector<std::string> searchable;   // and what conditions must see of them
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      const Item item = item_in(rows, row);
      const bool has_global = rows.read_floats(row, 7, global);
      if (!has_global) blame(item.id, "its global vector has another length than the gallery's");
      if (rows.bytes(row, 8).size() != bytes) {
        blame(item.id, "its grid has another shape than the gallery's");
      }
      if (has_global && rows.number(row, 11) != grid_checksum(item.id, global, rows.bytes(row, 8),
                                                              rows.bytes(row, 9))) {
        blame(item.id, "the checksum of its grid or thumbnail is wrong");
      }
      if (rows.number(row, 10) != words_checksum(item)) {
        blame(item.id, "the checksum of its text is wrong");
      } else {
        intact.push_back(item.id);
        searchable.push_back(searchable_metadata(item.metadata));
      }
      if (item.id >= next_id_) blame(item.id, "its id is not in use yet");
      ++result.items;
      from = item.id + 1;
    }
    const Result differing =
        ask("SELECT i.id FROM unnest($2, $3) AS w (id, metadata) JOIN diml.items AS i ON i.id = w.id "
            "WHERE i.gallery = $1::integer AND i.metadata <> w.metadata::jsonb ORDER BY i.id",
            of_gallery().add(intact).add_texts(searchable));
    for (std::size_t row = 0; row < differing.rows(); ++row) {
      blame(differing.number(row, 0), "conditions see other metadata than it has");
    }
    progress(std::min(result.items, size_), size_);
    if (rows.rows() < static_cast<std::size_t>(kVerifiedAtOnce)) break;
  }
  if (result.items != size_) {
    result.faults.push_back(std::to_string(size_) + " items are counted, " +
                            std::to_string(result.items) + " are there");
  }
  result.damaged.assign(damaged.begin(), damaged.end());
  return result;
}

}  // namespace diml::postgres
