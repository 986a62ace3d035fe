#pragma once

#include "diml/grid_store.h"

namespace diml::gallery {

// Returns when no other process writes to the store, however long that takes: writers wait for each
// other and cannot be woken. Another one may begin right after it.
void await_writers_turn(const GridStore& store);

}  // namespace diml::gallery
