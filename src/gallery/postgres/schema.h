#pragma once

#include <string>
#include <vector>

#include "connection.h"

namespace diml::postgres {

// The schema that this program knows: the number of its last migration.
int schema_version();

// Makes the schema, or brings it up to date, where the user may. One process at a time does; the
// others wait for it. Returns what its administrator should know, in lines.
std::vector<std::string> migrate(Connection& connection);

// Whether there is a schema. Throws, with the remedy, where it is not of this program's version.
bool has_schema(Connection& connection);

}  // namespace diml::postgres
