#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace diml::test {

// The address of a gallery in the server that ctest starts for the tests (tests/postgres/server);
// none where there is no server.
inline std::optional<std::string> gallery_in_postgres(const std::string& name) {
  std::ifstream file(DIML_POSTGRES_TEST "/address");
  std::string address;
  if (!std::getline(file, address)) return std::nullopt;
  return address.insert(address.find('?'), name);
}

// Databases of that server, for the shards of galleries; there is a server.
inline std::vector<std::string> shards_in_postgres() {
  std::vector<std::string> all;
  for (const char* name : {"shard_0", "shard_1", "shard_2"}) {
    std::string address = gallery_in_postgres("").value();
    const std::string tests = "/tests/";
    all.push_back(address.replace(address.find(tests) + 1, tests.size() - 1, name));
  }
  return all;
}

constexpr const char* kNoPostgres =
    "no PostgreSQL server runs for the tests: install postgresql, and run them with ctest";

}  // namespace diml::test
