#pragma once

#include <string>

#include "connection.h"
#include "diml/searcher.h"

namespace diml::postgres {

// An SQL expression over the columns of diml.items that holds where the filter admits an item. What
// the filter says becomes parameters, after those that are there: no text of it is in the expression.
std::string filter_sql(const Filter& filter, Parameters& parameters);

}  // namespace diml::postgres
