#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "connection.h"
#include "search/condition.h"

namespace diml::postgres {

// An SQL expression over the columns of diml.items that holds where all conditions admit an item.
// What they say becomes parameters, after those that are there: no text of it is in the expression.
std::string filter_sql(std::span<const Condition> conditions, Parameters& parameters);

// Conditions of one statement: PostgreSQL has bounds for the depth of an expression and the number
// of parameters.
constexpr std::size_t kMostConditions = 200;

}  // namespace diml::postgres
