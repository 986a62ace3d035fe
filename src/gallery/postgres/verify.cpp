#include <algorithm>
#include <set>

#include "item_row.h"
#include "postgres_store.h"

namespace diml::postgres {

StoreFaults PostgresSnapshot::verify(const Progress& progress) const {
  constexpr std::int64_t kVerifiedAtOnce = 256;
  static const std::string kStatement =
      std::string("SELECT ") + kWordColumns + ", " + kVectorColumns +
      ", cells, cells_checksum, thumbnail, thumbnail_checksum FROM diml.items "
      "WHERE gallery = $1::integer AND id >= $2 ORDER BY id LIMIT $3";
  constexpr std::size_t kVector = kWordCount;
  constexpr std::size_t kCells = kVector + kVectorCount;
  constexpr std::size_t kThumbnail = kCells + 2;
  const GridFormat& format = gallery_.format;
  const std::size_t bytes = bytes_of_grid(format.type, format.cells_per_grid, format.dim);
  StoreFaults result;
  std::set<std::int64_t> damaged;
  const auto blame = [&](std::int64_t id, const std::string& what) {
    damaged.insert(id);
    result.faults.push_back("item " + std::to_string(id) + ": " + what);
  };
  std::vector<float> global(format.dim);
  for (std::int64_t from = 0;;) {
    const Result rows = ask(kStatement.c_str(), of_gallery().add(from).add(kVerifiedAtOnce));
    std::vector<std::int64_t> intact;     // whose words are,
    std::vector<std::string> searchable;  // and what conditions must see of them
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      const std::int64_t id = rows.number(row, 0);
      from = id + 1;
      if (gallery_.shards > 0 && !counts(id)) continue;
      if (const std::optional<Item> item = item_in(rows, row)) {
        intact.push_back(id);
        searchable.push_back(searchable_metadata(item->metadata));
      } else {
        blame(id, "the checksum of its text is wrong");
      }
      if (!rows.read_floats(row, kVector + 2, global)) {
        blame(id, "its global vector has another length than the gallery's");
      } else if (!read_vector(rows, row, global, kVector)) {
        blame(id, "the checksum of its label or global vector is wrong");
      }
      if (rows.bytes(row, kCells).size() != bytes) {
        blame(id, "its grid has another shape than the gallery's");
      } else if (!is_intact(rows, row, id, kCells)) {
        blame(id, "the checksum of its grid is wrong");
      }
      if (!is_intact(rows, row, id, kThumbnail)) {
        blame(id, "the checksum of its thumbnail is wrong");
      }
      if (id >= next_id_) blame(id, "its id is not in use yet");
      ++result.items;
    }
    const Result differing = ask(
        "SELECT i.id FROM unnest($2, $3) AS w (id, metadata) JOIN diml.items AS i ON i.id = w.id "
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
