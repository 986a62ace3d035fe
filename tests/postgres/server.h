#pragma once

#include <fstream>
#include <optional>
#include <string>

namespace diml::test {

// The address of a gallery in the server that ctest starts for the tests (tests/postgres/server);
// none where there is no server.
inline std::optional<std::string> gallery_in_postgres(const std::string& name) {
  std::ifstream file(DIML_POSTGRES_TEST "/address");
  std::string address;
  if (!std::getline(file, address)) return std::nullopt;
  return address.insert(address.find('?'), name);
}

constexpr const char* kNoPostgres =
    "no PostgreSQL server runs for the tests: install postgresql, and run them with ctest";

}  // namespace diml::test
