#include <algorithm>
#include <iterator>
#include <set>

#include "diml/searcher.h"
#include "filter_sql.h"
#include "item_row.h"
#include "postgres_store.h"

namespace diml::postgres {
namespace {

constexpr std::size_t kItemsAtOnce = 1024;     // that are named
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
    Result about = lease->ask(
        "SELECT revision, items, next_id, leaving FROM diml.galleries WHERE id = "
        "$1::integer",
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
  leaving_ = about.numbers(0, 3);
}

bool PostgresSnapshot::counts(std::int64_t id) const {
  return gallery_.shards == 0 ||
         (id < next_id_ && !std::binary_search(leaving_.begin(), leaving_.end(), id));
}

std::vector<std::int64_t> PostgresSnapshot::those_that_count(
    std::span<const std::int64_t> ids) const {
  std::vector<std::int64_t> all;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(all),
               [&](std::int64_t id) { return counts(id); });
  return all;
}

Result PostgresSnapshot::ask(const char* statement, const Parameters& parameters) const {
  return lease_->ask(statement, parameters);
}

Parameters PostgresSnapshot::of_gallery() const { return Parameters().add(gallery_.number); }

void PostgresSnapshot::refuse_damaged(std::int64_t id) const {
  throw Error(ErrorKind::damaged,
              name() + ": item " + std::to_string(id) +
                  " is damaged: verify the gallery, which lists all of them",
              "verify");
}

void PostgresSnapshot::refuse_missing(std::int64_t id) const {
  throw Error(ErrorKind::not_found, name() + ": has no item " + std::to_string(id) + ": list them",
              "list_items");
}

bool PostgresSnapshot::contains(std::int64_t id) const {
  return ask("SELECT FROM diml.items WHERE gallery = $1::integer AND id = $2", of_gallery().add(id))
                 .rows() > 0 &&
         counts(id);
}

std::optional<std::int64_t> PostgresSnapshot::find(const std::string& path) const {
  const Result found =
      ask("SELECT id FROM diml.items WHERE gallery = $1::integer AND sha256(path) = $2",
          of_gallery().add_bytes(bytes_of(path_digest(path))));
  for (std::size_t row = 0; row < found.rows(); ++row) {
    if (counts(found.number(row, 0))) return found.number(row, 0);
  }
  return std::nullopt;
}

Item PostgresSnapshot::item(std::int64_t id) const { return items({&id, 1}).front(); }

std::vector<Item> PostgresSnapshot::items(std::span<const std::int64_t> ids) const {
  static const std::string kStatement =
      std::string("SELECT ") + kWordColumns +
      " FROM diml.items WHERE gallery = $1::integer AND id = ANY($2)";
  std::unordered_map<std::int64_t, Item> found;
  in_parts(those_that_count(ids), [&](std::span<const std::int64_t> part) {
    const Result rows = ask(kStatement.c_str(), of_gallery().add(part));
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      std::optional<Item> item = item_in(rows, row);
      if (!item) refuse_damaged(rows.number(row, 0));
      const std::int64_t id = item->id;
      found.emplace(id, std::move(*item));
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
  return std::move(thumbnails({&id, 1}).front());
}

std::vector<std::vector<std::uint8_t>> PostgresSnapshot::thumbnails(
    std::span<const std::int64_t> ids) const {
  std::unordered_map<std::int64_t, std::vector<std::uint8_t>> found;
  in_parts(those_that_count(ids), [&](std::span<const std::int64_t> part) {
    const Result rows =
        ask("SELECT id, thumbnail, thumbnail_checksum FROM diml.items WHERE gallery = $1::integer "
            "AND id = ANY($2)",
            of_gallery().add(part));
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      if (!is_intact(rows, row, rows.number(row, 0), 1)) refuse_damaged(rows.number(row, 0));
      const Bytes bytes = rows.bytes(row, 1);
      const auto* const first = reinterpret_cast<const std::uint8_t*>(bytes.data());
      found[rows.number(row, 0)].assign(first, first + bytes.size());
    }
  });
  std::vector<std::vector<std::uint8_t>> thumbnails;
  thumbnails.reserve(ids.size());
  for (const std::int64_t id : ids) {
    const auto one = found.find(id);
    if (one == found.end()) refuse_missing(id);
    thumbnails.push_back(one->second);
  }
  return thumbnails;
}

GridView PostgresSnapshot::grid(std::int64_t id) const { return grids({&id, 1}).front(); }

std::vector<GridView> PostgresSnapshot::grids(std::span<const std::int64_t> ids) const {
  const GridFormat& format = gallery_.format;
  const std::size_t bytes = bytes_of_grid(format.type, format.cells_per_grid, format.dim);
  std::vector<std::int64_t> wanted;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(wanted),
               [&](std::int64_t id) { return counts(id) && !grids_.contains(id); });
  static const std::string kStatement =
      std::string("SELECT ") + kVectorColumns +
      ", cells, cells_checksum FROM diml.items WHERE gallery = $1::integer AND id = ANY($2)";
  in_parts(std::move(wanted), [&](std::span<const std::int64_t> part) {
    const Result rows = ask(kStatement.c_str(), of_gallery().add(part));
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      const std::int64_t id = rows.number(row, 0);
      HeldGrid held;
      held.global.resize(format.dim);
      const Bytes cells = rows.bytes(row, kVectorCount);
      if (!read_vector(rows, row, held.global) || cells.size() != bytes ||
          !is_intact(rows, row, id, kVectorCount)) {
        refuse_damaged(id);
      }
      held.cells.assign(cells.begin(), cells.end());
      grids_.emplace(id, std::move(held));
    }
  });
  std::vector<GridView> grids;
  grids.reserve(ids.size());
  for (const std::int64_t id : ids) {
    const auto held = grids_.find(id);
    if (held == grids_.end() && gallery_.shards > 0 && counts(id)) {
      throw Error(ErrorKind::out_of_resources, name() + ": item " + std::to_string(id) +
                                                   " was removed meanwhile: repeat the call");
    }
    if (held == grids_.end()) refuse_missing(id);
    grids.push_back({held->second.cells.data(), format.type, format.cells_per_grid, format.dim,
                     held->second.global.data()});
  }
  return grids;
}

const float* PostgresSnapshot::global(std::int64_t id) const {
  if (const auto held = grids_.find(id); held != grids_.end()) return held->second.global.data();
  if (const auto held = globals_.find(id); held != globals_.end()) return held->second.data();
  static const std::string kStatement = std::string("SELECT ") + kVectorColumns +
                                        " FROM diml.items WHERE gallery = $1::integer AND id = $2";
  const Result found = ask(kStatement.c_str(), of_gallery().add(id));
  if (found.rows() == 0) refuse_missing(id);
  std::vector<float> global(gallery_.format.dim);
  if (!read_vector(found, 0, global)) refuse_damaged(id);
  return globals_.emplace(id, std::move(global)).first->second.data();
}

std::vector<std::int64_t> PostgresSnapshot::ids() const {
  const Result rows =
      ask("SELECT id FROM diml.items WHERE gallery = $1::integer ORDER BY id", of_gallery());
  std::vector<std::int64_t> ids(rows.rows());
  for (std::size_t row = 0; row < ids.size(); ++row) ids[row] = rows.number(row, 0);
  return those_that_count(ids);
}

bool PostgresSnapshot::show(const Result& rows, const Visitor& visitor) const {
  std::vector<float> global(gallery_.format.dim);
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    const std::int64_t id = rows.number(row, 0);
    if (!counts(id)) continue;
    if (!read_vector(rows, row, global)) refuse_damaged(id);
    const Bytes label = rows.bytes(row, 1);
    if (!visitor(id, {reinterpret_cast<const char*>(label.data()), label.size()}, global.data())) {
      return false;
    }
  }
  return true;
}

// Part by part, so that the visitor may ask the snapshot too.
void PostgresSnapshot::visit(std::int64_t first, const Visitor& visitor) const {
  static const std::string kStatement =
      std::string("SELECT ") + kVectorColumns +
      " FROM diml.items WHERE gallery = $1::integer AND id >= $2 ORDER BY id LIMIT $3";
  for (std::int64_t from = first;;) {
    const Result rows = ask(kStatement.c_str(), of_gallery().add(from).add(kVisitedAtOnce));
    if (!show(rows, visitor) || rows.rows() < static_cast<std::size_t>(kVisitedAtOnce)) return;
    from = rows.number(rows.rows() - 1, 0) + 1;
  }
}

void PostgresSnapshot::visit_some(std::span<const std::int64_t> ids, const Visitor& visitor) const {
  static const std::string kStatement =
      std::string("SELECT ") + kVectorColumns +
      " FROM diml.items WHERE gallery = $1::integer AND id = ANY($2) ORDER BY id";
  bool goes_on = true;
  in_parts(those_that_count(ids), [&](std::span<const std::int64_t> part) {
    if (goes_on) goes_on = show(ask(kStatement.c_str(), of_gallery().add(part)), visitor);
  });
}

StoreSummary PostgresSnapshot::summary() const {
  const Result row =
      ask("SELECT count(DISTINCT label) FILTER (WHERE label <> ''), coalesce(min(id), -1), "
          "coalesce(max(id), -1) FROM diml.items WHERE gallery = $1::integer AND id < $2 AND id <> "
          "ALL($3)",
          of_gallery().add(next_id_).add(leaving_));
  return {static_cast<std::size_t>(row.number(0, 0)), row.number(0, 1), row.number(0, 2)};
}

std::optional<std::vector<std::int64_t>> PostgresSnapshot::admitted(const Filter& filter,
                                                                    std::int64_t first) const {
  const std::span<const Condition> all = filter.conditions();
  std::vector<std::int64_t> ids;
  for (std::size_t begin = 0; begin == 0 || begin < all.size(); begin += kMostConditions) {
    Parameters parameters = of_gallery().add(first);
    if (begin > 0) parameters.add(ids);  // those that the conditions before it admit
    const std::string conditions =
        filter_sql(all.subspan(begin, std::min(kMostConditions, all.size() - begin)), parameters);
    const Result rows = lease_->ask(
        std::string("SELECT id FROM diml.items WHERE gallery = $1::integer AND id >= $2 AND ") +
            (begin > 0 ? "id = ANY($3) AND " : "") + conditions + " ORDER BY id",
        parameters);
    ids.resize(rows.rows());
    for (std::size_t row = 0; row < ids.size(); ++row) ids[row] = rows.number(row, 0);
  }
  return those_that_count(ids);
}

void PostgresSnapshot::end_views() const {
  grids_.clear();
  globals_.clear();
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

}  // namespace diml::postgres
