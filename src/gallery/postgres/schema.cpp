#include "schema.h"

#include <array>
#include <string_view>

#include "embedded/0001_galleries.sql.h"
#include "embedded/0002_roles.sql.h"
#include "embedded/0003_shards.sql.h"

namespace diml::postgres {
namespace {

struct Migration {
  const char* name;
  std::string_view statements;
};

// In order; one that was in a release never changes again.
constexpr std::array kMigrations = {
    Migration{"galleries", embedded::_0001_galleries_sql},
    Migration{"roles", embedded::_0002_roles_sql},
    Migration{"shards", embedded::_0003_shards_sql},
};

constexpr std::int64_t kLock = 0x64696d6c;  // "diml"

// 0: there is none.
int version_in(Connection& connection) {
  const Result there = connection.ask("SELECT to_regclass('diml.migrations') IS NOT NULL");
  if (there.number(0, 0) == 0) return 0;
  const Result version = connection.ask("SELECT coalesce(max(version), 0) FROM diml.migrations");
  return static_cast<int>(version.number(0, 0));
}

void expect_not_newer(const Connection& connection, int version) {
  if (version <= schema_version()) return;
  throw Error(ErrorKind::unsupported,
              connection.address().shown + ": its database was made by a later diml, in version " +
                  std::to_string(version) + " of the schema, this one supports " +
                  std::to_string(schema_version()) + ": update diml");
}

// Before the first statement fails: its message would not say who may.
void expect_owner(Connection& connection, int version) {
  const std::string& name = connection.address().shown;
  const Result may = connection.ask(
      "SELECT has_database_privilege(current_database(), 'CREATE'), "
      "coalesce(pg_has_role((SELECT nspowner FROM pg_namespace WHERE nspname = 'diml'), 'USAGE'), "
      "true), pg_is_in_recovery()");
  if (may.number(0, 2) != 0) {
    throw Error(ErrorKind::conflict,
                name + ": it is a standby: name the primary to make the schema");
  }
  if (version == 0 && may.number(0, 0) == 0) {
    throw Error(ErrorKind::bad_input,
                name +
                    ": its database has no galleries yet, and this user may not make the schema "
                    "for them: have the database's owner create the first one");
  }
  if (version > 0 && may.number(0, 1) == 0) {
    throw Error(ErrorKind::bad_input,
                name + ": its database has version " + std::to_string(version) +
                    " of the schema, this diml needs " + std::to_string(schema_version()) +
                    ": have its owner open a gallery for writing once");
  }
}

}  // namespace

int schema_version() { return static_cast<int>(kMigrations.size()); }

std::vector<std::string> migrate(Connection& connection) {
  const int before = version_in(connection);
  expect_not_newer(connection, before);
  if (before == schema_version()) return {};
  expect_owner(connection, before);
  Transaction transaction(connection, "BEGIN");
  // Of the transaction, not of the session: a pooler may stand between.
  connection.ask("SELECT pg_advisory_xact_lock($1)", Parameters().add(kLock));
  const Result encoding = connection.ask(
      "SELECT pg_encoding_to_char(encoding)::text FROM pg_database WHERE datname = "
      "current_database()");
  if (encoding.text(0, 0) != "UTF8") {
    throw Error(ErrorKind::unsupported, connection.address().shown + ": its database is in " +
                                            encoding.text(0, 0) +
                                            ": name one in UTF8 (createdb -E UTF8 -T template0)");
  }
  const int version = version_in(connection);
  expect_not_newer(connection, version);
  for (int next = version + 1; next <= schema_version(); ++next) {
    const Migration& one = kMigrations[static_cast<std::size_t>(next - 1)];
    connection.run(one.statements);
    connection.ask("INSERT INTO diml.migrations (version, name) VALUES ($1, $2)",
                   Parameters().add(std::int64_t{next}).add_text(one.name));
  }
  transaction.commit();
  return connection.notices();
}

bool has_schema(Connection& connection) {
  const int version = version_in(connection);
  expect_not_newer(connection, version);
  if (version == 0 || version == schema_version()) return version != 0;
  throw Error(ErrorKind::conflict,
              connection.address().shown + ": its database has version " + std::to_string(version) +
                  " of the schema, this diml needs " + std::to_string(schema_version()) +
                  ": its owner brings it up to date by opening a gallery for writing");
}

}  // namespace diml::postgres
