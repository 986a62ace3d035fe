#include "writers_turn.h"

#include "lmdb_store.h"
#include "reopening_store.h"
#if DIML_HAS_POSTGRES
#include "postgres/postgres_store.h"
#endif

namespace diml::gallery {

void await_writers_turn(const GridStore& store) {
  if (const auto* reopening = dynamic_cast<const ReopeningStore*>(&store)) {
    return reopening->with_store([](const GridStore& current) { await_writers_turn(current); });
  }
  if (const auto* on_disk = dynamic_cast<const LmdbStore*>(&store)) on_disk->await_writers_turn();
#if DIML_HAS_POSTGRES
  if (const auto* of_database = dynamic_cast<const postgres::PostgresStore*>(&store)) {
    of_database->await_writers_turn();
  }
#endif
}

}  // namespace diml::gallery
