// The first stage within the database: an HNSW index of pgvector over the globals, as 16-bit
// floats.

#include <algorithm>
#include <array>
#include <chrono>
#include <future>

#include <nlohmann/json.hpp>

#include "base/stopwatch.h"
#include "diml/approximate_index.h"
#include "diml/searcher.h"
#include "filter_sql.h"
#include "item_row.h"
#include "postgres_store.h"
#include "shards.h"

namespace diml::postgres {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostDimensionsOfIndex = 4000;  // of a halfvec in an HNSW index
constexpr std::array<std::size_t, 3> kDepths = {1, 10, 100};
constexpr std::size_t kAsked = 200;  // queries, to measure recall
// Of the graph: pgvector's defaults (16, 64) find too little among a million.
constexpr const char* kGraph = " WITH (m = 24, ef_construction = 128)";
// What a walk through it may keep (hnsw.ef_search), of which the least that finds enough is taken.
constexpr std::array<std::size_t, 5> kEfforts = {200, 400, 600, 800, 1000};
constexpr double kEnough = 0.98;  // of the nearest kDepths.back()

// pgvector in this database.
struct Vectors {
  std::string schema;      // quoted
  std::size_t effort = 0;  // of the gallery's index; 0: not measured
};

// None where it is not there, or is older than 0.8, which goes on looking where conditions pass
// over many items.
std::optional<Vectors> vectors_in(Connection& connection, const GalleryRow* gallery = nullptr) {
  const Result found = connection.ask(
      "SELECT quote_ident(n.nspname), coalesce((SELECT effort FROM diml.indexes WHERE gallery = "
      "$1::integer), 0) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace "
      "WHERE e.extname = 'vector' AND "
      "string_to_array(substring(e.extversion, '^[0-9]+[.][0-9]+'), '.')::integer[] >= '{0,8}'",
      Parameters().add(gallery == nullptr ? std::int64_t{0} : gallery->number));
  if (found.rows() == 0) return std::nullopt;
  return Vectors{found.text(0, 0), static_cast<std::size_t>(found.number(0, 1))};
}

// What the index is over, and what a query orders by.
std::string key_sql(const std::string& schema, const std::string& of, std::size_t dim) {
  return of + "::" + schema + ".halfvec(" + std::to_string(dim) + ")";
}

std::string items_table(const GalleryRow& gallery) {
  return "diml.items_" + std::to_string(gallery.number);
}
// Of a table of items.
std::string index_name(const std::string& table) { return table + "_hnsw"; }

void require_vectors(Connection& connection, const std::string& table) {
  const std::string& name = connection.address().shown;
  const Result there =
      connection.ask("SELECT default_version FROM pg_available_extensions WHERE name = 'vector'");
  if (there.rows() == 0) {
    throw Error(ErrorKind::unsupported,
                name +
                    ": its server has no pgvector: install it there (postgresql-17-pgvector), or "
                    "search exactly, without an index");
  }
  const Result owner = connection.ask(
      "SELECT pg_get_userbyid(relowner)::text, pg_has_role(relowner, 'USAGE') FROM pg_class WHERE "
      "oid = to_regclass($1)",
      Parameters().add_text(table));
  if (owner.rows() == 0) throw Error(ErrorKind::not_found, name + ": the gallery was deleted");
  if (owner.number(0, 1) == 0) {
    throw Error(ErrorKind::bad_input, name + ": only the owner of its tables, " + owner.text(0, 0) +
                                          ", may make an index");
  }
  if (connection.ask("SELECT FROM pg_extension WHERE extname = 'vector'").rows() == 0) {
    connection.ask("CREATE EXTENSION IF NOT EXISTS vector");
  }
  if (!vectors_in(connection)) {
    throw Error(
        ErrorKind::unsupported,
        name + ": its pgvector is older than 0.8: update it there (ALTER EXTENSION vector UPDATE)");
  }
}

// Reports how far the server is with an index of the table, and ends that where the caller wants
// it.
void watch_index(Connection& connection, const std::string& table, std::size_t items,
                 const Progress& progress) {
  const Result now = connection.ask(
      "SELECT tuples_done, pid FROM pg_stat_progress_create_index WHERE relid = to_regclass($1)",
      Parameters().add_text(table));
  if (now.rows() == 0) return;
  progress(std::min(static_cast<std::size_t>(now.number(0, 0)), items), items);
  if (progress.cancelled()) {
    connection.ask("SELECT pg_cancel_backend($1::integer)", Parameters().add(now.number(0, 1)));
  }
}

// Outside a transaction: others read and write meanwhile. Returns what the server said.
std::string build_index_of(const std::shared_ptr<Pool>& pool, const std::string& table,
                           std::size_t dim, std::size_t items, const Progress& progress) {
  constexpr std::chrono::milliseconds kBetweenLooks{250};
  const Pool::Lease builder = pool->take();
  const std::string index = index_name(table);
  require_vectors(*builder, table);
  const std::string schema = vectors_in(*builder)->schema;
  builder->ask("DROP INDEX CONCURRENTLY IF EXISTS " + index);
  builder->notices();
  const Pool::Lease watcher = pool->take();
  progress(0, items);
  auto built = std::async(std::launch::async, [&] {
    builder->ask("CREATE INDEX CONCURRENTLY " + index.substr(index.find('.') + 1) + " ON " + table +
                 " USING hnsw ((" + key_sql(schema, "global", dim) + ") " + schema +
                 ".halfvec_cosine_ops)" + kGraph);
  });
  while (built.wait_for(kBetweenLooks) != std::future_status::ready) {
    watch_index(*watcher, table, items, progress);
  }
  progress.stop_if_cancelled();
  built.get();
  progress(items, items);
  std::string said;
  for (const std::string& line : builder->notices()) said += (said.empty() ? "" : "; ") + line;
  return said;
}

// Where the rows are: shards build theirs at the same time.
std::string build_indexes(const std::shared_ptr<Pool>& pool, const GalleryRow& gallery,
                          std::size_t items, const Progress& progress) {
  std::vector<Shard> shards;
  {
    const Pool::Lease lease = pool->take();
    require_vectors(*lease, items_table(gallery));
    lease->ask("DELETE FROM diml.indexes WHERE gallery = $1::integer",
               Parameters().add(gallery.number));
    shards = shards_of(*lease, gallery);
  }
  const std::size_t dim = gallery.format.dim;
  if (shards.empty()) return build_index_of(pool, items_table(gallery), dim, items, progress);
  const Progress to_cancel = Progress().with([&] { return progress.cancelled(); });
  std::vector<std::future<std::string>> built;
  for (const Shard& shard : shards) {
    built.push_back(std::async(std::launch::async, [&] {
      return build_index_of(std::make_shared<Pool>(shard.address), shard_table(gallery), dim,
                            items / shards.size(), to_cancel);
    }));
  }
  std::string said;
  for (std::size_t k = 0; k < built.size(); ++k) {
    progress(k * items / built.size(), items);
    const std::string line = built[k].get();
    said += (said.empty() || line.empty() ? "" : "; ") + line;
  }
  progress(items, items);
  return said;
}

}  // namespace

StoredVectors PostgresSnapshot::about_nearest(std::span<const float> query, std::size_t depth,
                                              const Filter& filter) const {
  // Bounds of pgvector for hnsw.ef_search, which is how many an index looks at in one go.
  constexpr std::size_t kLeastEffort = 100;
  constexpr std::size_t kMostEffort = 1000;
  const std::optional<Vectors> vectors = vectors_in(*lease_, &gallery_);
  if (!vectors) {
    throw Error(ErrorKind::conflict, name() +
                                         ": pgvector was removed from its database: search "
                                         "exactly, or make the index again");
  }
  if (filter.conditions().size() > kMostConditions) return {};  // few are admitted: see admitted()
  // Of this transaction. Where conditions pass over many items, the index goes on looking.
  ask("SELECT set_config('hnsw.ef_search', $1, true), set_config('hnsw.iterative_scan', "
      "'relaxed_order', true)",
      Parameters().add_text(
          std::to_string(std::clamp(std::max(depth, vectors->effort), kLeastEffort, kMostEffort))));
  Parameters parameters = of_gallery();
  parameters.add(query).add(static_cast<std::int64_t>(depth));
  const std::string conditions = filter_sql(filter.conditions(), parameters);
  const std::size_t dim = gallery_.format.dim;
  const std::string& schema = vectors->schema;
  std::string statement = std::string("SELECT ") + kVectorColumns +
                          " FROM diml.items WHERE gallery = $1::integer AND " + conditions +
                          " ORDER BY (" + key_sql(schema, "global", dim) + ") OPERATOR(" + schema +
                          ".<=>) (" + key_sql(schema, "$2", dim) + ") LIMIT $3";
  if (gallery_.shards > 0) {
    statement =
        nearest_of_shards_sql(gallery_, schema, kVectorColumns, conditions, parameters.size() + 1);
    parameters.add(next_id_).add(leaving_);
  }
  const Result rows = lease_->ask(statement, parameters);
  StoredVectors found;
  found.ids.resize(rows.rows());
  found.globals.resize(rows.rows() * dim);
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    found.ids[row] = rows.number(row, 0);
    if (!read_vector(rows, row, std::span(found.globals).subspan(row * dim, dim))) {
      refuse_damaged(found.ids[row]);
    }
  }
  return found;
}

std::optional<StoreIndex> PostgresStore::own_index() const {
  return with_connection(pool_, [&](Connection& connection) -> std::optional<StoreIndex> {
    const Result row = connection.ask(
        "SELECT items, recall::text, seconds FROM diml.indexes WHERE gallery = $1::integer",
        Parameters().add(gallery_.number));
    if (row.rows() == 0 || !vectors_in(connection)) return std::nullopt;
    StoreIndex index{"pgvector", static_cast<std::size_t>(row.number(0, 0)), 0, {}, row.real(0, 2)};
    const std::optional<std::uint64_t> bytes = sizes_of(connection, gallery_).index;
    if (!bytes) return std::nullopt;
    index.bytes = *bytes;
    const Json recall = Json::parse(row.text(0, 1), nullptr, false);
    for (const std::size_t depth : kDepths) {
      if (const auto found = recall.find(std::to_string(depth)); found != recall.end()) {
        index.recall[depth] = found->get<double>();
      }
    }
    return index;
  });
}

// effort: of the next searches; 0: as it is.
void PostgresStore::keep_index(const StoreIndex& index, std::size_t effort) const {
  Json recall = Json::object();
  for (const auto& [depth, share] : index.recall) recall[std::to_string(depth)] = share;
  with_connection(pool_, [&](Connection& connection) {
    Transaction transaction(connection, "BEGIN");
    connection.ask(
        "INSERT INTO diml.indexes AS i (gallery, kind, items, recall, seconds, effort) VALUES "
        "($1::integer, 'pgvector', $2, $3::jsonb, $4, ($5)::integer) ON CONFLICT (gallery) DO "
        "UPDATE "
        "SET items = $2, recall = $3::jsonb, seconds = $4, made = now(), effort = CASE WHEN $5 = 0 "
        "THEN i.effort ELSE ($5)::integer END",
        Parameters()
            .add(gallery_.number)
            .add(static_cast<std::int64_t>(index.items))
            .add_text(recall.dump())
            .add(index.seconds)
            .add(static_cast<std::int64_t>(effort)));
    if (gallery_.shards > 0 && effort > 0) {
      connection.ask("SELECT diml.set_effort($1::integer, $2::integer)",
                     Parameters().add(gallery_.number).add(static_cast<std::int64_t>(effort)));
    }
    transaction.commit();
    return true;
  });
}

StoreIndex PostgresStore::make_own_index(const Progress& progress) {
  const std::size_t dim = gallery_.format.dim;
  if (dim > kMostDimensionsOfIndex) {
    throw Error(ErrorKind::unsupported, name() + ": has vectors of " + std::to_string(dim) +
                                            " dimensions, pgvector's index takes " +
                                            std::to_string(kMostDimensionsOfIndex) +
                                            ": search exactly, without an index");
  }
  const Stopwatch watch_of_index;
  const std::size_t items = snapshot()->size();  // which ends: an index waits for open snapshots
  const std::string caution = build_indexes(pool_, gallery_, items, progress);
  const double seconds = watch_of_index.seconds();
  const StoredVectors all = snapshot()->vectors();
  StoreIndex made{"pgvector", all.ids.size(), 0, {}, seconds, caution};
  const auto recall_at = [&](std::size_t depth) {
    const std::unique_ptr<GridSnapshot> now = snapshot();
    return recall_of([&](std::span<const float> query,
                         std::size_t wanted) { return now->about_nearest(query, wanted, {}).ids; },
                     {all.globals.data(), all.ids.size(), dim}, all.ids, depth, kAsked);
  };
  for (const std::size_t effort : kEfforts) {
    progress.stop_if_cancelled();
    keep_index(made, effort);
    if (recall_at(kDepths.back()) >= kEnough) break;
  }
  for (const std::size_t depth : kDepths) made.recall[depth] = recall_at(depth);
  keep_index(made, 0);
  made.bytes = own_index()->bytes;
  return made;
}

}  // namespace diml::postgres
