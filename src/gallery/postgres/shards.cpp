#include "shards.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string_view>

#include <libpq-fe.h>

#include "diml/gallery.h"
#include "gallery/sharding.h"
#include "schema.h"
#include "tables_alone.h"

namespace diml::postgres {
namespace {

// Beside those of the address. Estimates of the servers make plans that ask them for sorted rows;
// async_capable asks all of them at once. An index looks at so many rows in one go.
constexpr std::array<const char*, 10> kForeignOptions = {
    "use_remote_estimate", "true", "async_capable", "true",  "fetch_size", "500",
    "batch_size",          "500",  "extensions",    "vector"};
constexpr std::string_view kIndexOptions =
    "-c hnsw.ef_search=400 -c hnsw.iterative_scan=relaxed_order";

// A database, as this program reaches it and as the server of the gallery is to reach it.
struct Target {
  Address address;
  std::vector<std::string> options;  // names and values in turn
  std::vector<std::string> login;
};

// The address of a database, which names no gallery.
Target target_of(const std::string& database) {
  Target target;
  std::string whole = database;
  whole.insert(std::min(whole.find('?'), whole.size()), "/shard");
  target.address = address_from(whole);
  char* why = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(
      PQconninfoParse(target.address.database.c_str(), &why), PQconninfoFree);
  PQfreemem(why);
  std::string index_options(kIndexOptions);
  bool has_host = false;
  bool has_password = false;
  for (const PQconninfoOption* one = parsed.get(); one != nullptr && one->keyword != nullptr;
       ++one) {
    if (one->val == nullptr || *one->val == '\0') continue;
    const std::string name = one->keyword;
    has_host |= name == "host" || name == "hostaddr";
    has_password |= name == "password";
    if (name == "options") {
      index_options += " " + std::string(one->val);
    } else if (name == "user" || name == "password" || name == "sslpassword") {
      target.login.insert(target.login.end(), {name, one->val});
    } else {
      target.options.insert(target.options.end(), {name, one->val});
    }
  }
  if (!has_host) {
    throw Error(target.address.shown +
                ": names no host: write postgres://USER@HOST:PORT/DATABASE, as the server of the "
                "gallery reaches it");
  }
  if (!has_password) target.login.insert(target.login.end(), {"password_required", "false"});
  target.options.insert(target.options.end(), {"options", index_options});
  target.options.insert(target.options.end(), kForeignOptions.begin(), kForeignOptions.end());
  return target;
}

// Its table for rows of the gallery. One that an earlier call left behind is taken as it is, if it
// is empty.
void make_table(const Target& target, const GalleryRow& gallery) {
  Connection connection(target.address);
  migrate(connection);
  const std::string table = shard_table(gallery);
  const bool is_there =
      connection.ask("SELECT to_regclass($1) IS NOT NULL", Parameters().add_text(table))
          .number(0, 0) != 0;
  if (!is_there) {
    connection.ask("SELECT diml.make_shard($1)",
                   Parameters().add(static_cast<std::int64_t>(gallery.birth)));
  } else if (connection.ask(("SELECT FROM " + table + " LIMIT 1").c_str()).rows() > 0) {
    throw Error(ErrorKind::conflict,
                target.address.shown + ": its table " + table +
                    " has rows: name each database once, and an empty gallery");
  }
}

void expect_new(Connection& connection, const GalleryRow& gallery, const char* lock) {
  const std::string statement =
      std::string("SELECT next_id, shards FROM diml.galleries WHERE id = $1::integer") + lock;
  const Result now = connection.ask(statement.c_str(), Parameters().add(gallery.number));
  if (now.rows() > 0 && now.number(0, 0) == 0 && now.number(0, 1) == 0) return;
  throw Error(ErrorKind::conflict,
              connection.address().shown +
                  ": is not new: only a gallery that never held an image "
                  "can be divided; make an empty one and copy this one into it",
              "copy_gallery");
}

}  // namespace

std::string shard_table(const GalleryRow& gallery) {
  return "diml.shard_" + std::to_string(gallery.birth);
}

std::vector<Shard> shards_of(Connection& connection, const GalleryRow& gallery) {
  const Result rows = connection.ask("SELECT part, reached FROM diml.shards_of($1::integer)",
                                     Parameters().add(gallery.number));
  std::vector<Shard> shards;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    Shard shard{rows.text(row, 0), {}};
    shard.address.database = rows.text(row, 1);
    shard.address.shown = connection.address().shown + ", its shard " + std::to_string(row);
    shards.push_back(std::move(shard));
  }
  return shards;
}

std::string nearest_of_shards_sql(const GalleryRow& gallery, const std::string& schema,
                                  const std::string& columns, const std::string& conditions,
                                  std::size_t place) {
  const std::string type = schema + ".halfvec(" + std::to_string(gallery.format.dim) + ")";
  const std::string bound = std::to_string(place);
  const std::string leaving = std::to_string(place + 1);
  std::string all;
  for (std::int64_t k = 0; k < gallery.shards; ++k) {
    // Only a select list that has what it is sorted by is asked for asynchronously.
    all += (k > 0 ? " UNION ALL (" : "(") + std::string("SELECT ") + columns +
           ", (global::" + type + ") OPERATOR(" + schema + ".<=>) ($2::" + type +
           ") AS distance FROM diml.items_" + std::to_string(gallery.number) + "_" +
           std::to_string(k) + " WHERE gallery = $1::integer AND id < $" + bound +
           " AND id <> ALL($" + leaving + ") AND " + conditions + " ORDER BY distance LIMIT $3)";
  }
  // By the distance itself, they would be merged: one shard asked after the other.
  return "SELECT " + columns + " FROM (" + all + ") AS shards ORDER BY distance + 0 LIMIT $3";
}

Sizes sizes_of(Connection& connection, const GalleryRow& gallery) {
  const std::string number = std::to_string(gallery.number);
  std::string all = "SELECT bytes, index_bytes FROM diml.sizes WHERE name = $1";
  std::string name = "items_" + number;
  if (gallery.shards > 0) {
    all.clear();
    for (std::int64_t k = 0; k < gallery.shards; ++k) {
      all += (k > 0 ? " UNION ALL " : "") +
             std::string("SELECT bytes, index_bytes FROM diml.sizes_") + number + "_" +
             std::to_string(k) + " WHERE name = $1";
    }
    name = shard_table(gallery).substr(std::string_view("diml.").size());
  }
  const Result rows = connection.ask(
      "SELECT coalesce(sum(bytes), 0)::bigint, coalesce(sum(index_bytes), 0)::bigint, "
      "count(*) > 0 AND count(*) = count(index_bytes) FROM (" +
          all + ") AS tables",
      Parameters().add_text(name));
  Sizes sizes{static_cast<std::uint64_t>(rows.number(0, 0)), std::nullopt};
  if (rows.number(0, 2) != 0) sizes.index = static_cast<std::uint64_t>(rows.number(0, 1));
  return sizes;
}

}  // namespace diml::postgres

namespace diml::gallery {

void shard(const std::string& gallery, std::span<const std::string> databases) {
  using namespace postgres;
  if (!is_address(gallery)) {
    throw Error(
        ErrorKind::bad_input,
        gallery + ": is a folder, and only a gallery in PostgreSQL has shards: copy it there",
        "copy_gallery");
  }
  const std::set<std::string> each(databases.begin(), databases.end());
  if (each.size() < 2 || each.size() != databases.size()) {
    throw Error(shown_gallery(gallery) + ": name two databases or more, each once");
  }
  std::vector<Target> targets;
  for (const std::string& database : databases) targets.push_back(target_of(database));
  const auto store = PostgresStore::open(gallery, StoreAccess::write);
  const GalleryRow& row = store->row();
  Connection connection(address_from(gallery));
  expect_new(connection, row, "");
  for (const Target& target : targets) make_table(target, row);
  with_tables_alone(connection, [&] {
    expect_new(connection, row, " FOR UPDATE");
    connection.ask("CREATE EXTENSION IF NOT EXISTS postgres_fdw");
    const auto count = static_cast<std::int64_t>(targets.size());
    connection.ask("SELECT diml.lay_over($1::integer, $2::integer)",
                   Parameters().add(row.number).add(count));
    for (std::int64_t k = 0; k < count; ++k) {
      const Target& target = targets[static_cast<std::size_t>(k)];
      connection.ask("SELECT diml.add_shard($1::integer, $2, $3::integer, $4::integer, $5, $6)",
                     Parameters()
                         .add(row.number)
                         .add(static_cast<std::int64_t>(row.birth))
                         .add(k)
                         .add(count)
                         .add_texts(target.options)
                         .add_texts(target.login));
    }
    // The server of the gallery reaches all of them, or nothing is changed.
    connection.ask("SELECT FROM diml.items WHERE gallery = $1::integer LIMIT 1",
                   Parameters().add(row.number));
  });
}

}  // namespace diml::gallery
