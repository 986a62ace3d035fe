#include <algorithm>
#include <set>

#include "item_row.h"
#include "postgres_store.h"

namespace diml::postgres {

StoreFaults PostgresSnapshot::verify(const Progress& progress) const {
  constexpr std::int64_t kVerifiedAtOnce = 256;
  static const std::string kStatement =
      std::string("SELECT ") + kWordColumns +
      ", global, cells, thumbnail, words_checksum, grid_checksum FROM diml.items "
      "WHERE gallery = $1::integer AND id >= $2 ORDER BY id LIMIT $3";
  const GridFormat& format = gallery_.format;
  const std::size_t bytes = format.cells_per_grid * format.dim * size_of(format.type);
  StoreFaults result;
  std::set<std::int64_t> damaged;
  const auto blame = [&](std::int64_t id, const std::string& what) {
    damaged.insert(id);
    result.faults.push_back("item " + std::to_string(id) + ": " + what);
  };
  std::vector<float> global(format.dim);
  for (std::int64_t from = 0;;) {
    const Result rows = ask(kStatement.c_str(), of_gallery().add(from).add(kVerifiedAtOnce));
    std::vector<std::int64_t> intact;      // whose words are,
    std::vector<std::string> searchable;   // and what conditions must see of them
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      const Item item = item_in(rows, row);
      from = item.id + 1;
      if (gallery_.shards > 0 && !counts(item.id)) continue;
      const bool has_global = rows.read_floats(row, 7, global);
      if (!has_global) blame(item.id, "its global vector has another length than the gallery's");
      if (rows.bytes(row, 8).size() != bytes) {
        blame(item.id, "its grid has another shape than the gallery's");
      }
      if (has_global && rows.number(row, 11) != grid_checksum(item.id, global, rows.bytes(row, 8),
                                                              rows.bytes(row, 9))) {
        blame(item.id, "the checksum of its grid or thumbnail is wrong");
      }
      if (rows.number(row, 10) != words_checksum(item)) {
        blame(item.id, "the checksum of its text is wrong");
      } else {
        intact.push_back(item.id);
        searchable.push_back(searchable_metadata(item.metadata));
      }
      if (item.id >= next_id_) blame(item.id, "its id is not in use yet");
      ++result.items;
    }
    const Result differing =
        ask("SELECT i.id FROM unnest($2, $3) AS w (id, metadata) JOIN diml.items AS i ON i.id = w.id "
            "WHERE i.gallery = $1::integer AND i.metadata <> w.metadata::jsonb ORDER BY i.id",
            of_gallery().add(intact).add_texts(searchable));
    for (std::size_t row = 0; row < differing.rows(); ++row) {
      blame(differing.number(row, 0), "conditions see other metadata than it has");
    }
    progress(std::min(result.items, size_), size_);
    if (rows.rows() < static_cast<std::size_t>(kVerifiedAtOnce)) break;
  }
  if (result.items != size_) {
    result.faults.push_back(std::to_string(size_) + " items are counted, " +
                            std::to_string(result.items) + " are there");
  }
  result.damaged.assign(damaged.begin(), damaged.end());
  return result;
}

}  // namespace diml::postgres
