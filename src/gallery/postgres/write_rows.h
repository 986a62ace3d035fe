#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "connection.h"
#include "diml/grid_store.h"

namespace diml::postgres {

// An item to add, with everything that does not depend on its id.
struct NewRow {
  const NewItem* item;
  std::string metadata;
  std::string searchable;
  std::string digest;
  bool is_superseded = false;  // by a later item of the same path in the same call
};

// Throws where an item cannot be stored, and with Duplicates::refuse where two have one path.
std::vector<NewRow> rows_of(std::span<const NewItem> items, Duplicates duplicates);

// In the transaction of the caller, which holds the lock of the gallery's row:

// The items whose paths are those of `rows`, which are to be removed; or refuses all.
std::vector<std::int64_t> take_out(Connection& connection, std::int64_t gallery,
                                   const std::vector<NewRow>& rows, Duplicates duplicates);

// Row i gets the id first_id + i; superseded ones are passed over.
void copy_rows(Connection& connection, std::int64_t gallery, const std::vector<NewRow>& rows,
               const GridSetView& grids, std::int64_t first_id);

// Returns the ids that were changed, each once.
std::vector<std::int64_t> update_rows(Connection& connection, std::int64_t gallery, std::size_t dim,
                                      std::span<const ItemUpdate> updates);

}  // namespace diml::postgres
