#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diml/grid.h"
#include "diml/threads.h"

namespace diml {

// What all grids of a store have in common.
struct GridFormat {
  std::size_t cells_per_grid = 0;
  std::size_t dim = 0;
  CellType type = CellType::float16;  // of the cells; globals are always float32
  // How images became grids, in words: "sha256" of the model, "grid", "pooling", "projection",
  // "resize" and so on. Empty where that is unknown: then photos cannot be compared with the grids.
  std::map<std::string, std::string> embedding{};
  std::string model{};  // the file of the model: looked for there again, not compared
};

// "4 x 4 x 128", or "6 x 16" where the cells are no square.
std::string shape_text(const GridFormat& format);

// Throws, with the remedy, where grids of `other` cannot be compared with grids of `format`.
// what: "the query", for the message.
void expect_same_embedding(const GridFormat& format, const GridFormat& other,
                           const std::string& what);

// Throws where `grids` are not one for each item, of the store's shape and type.
void expect_fit(const GridFormat& format, std::size_t items, const GridSetView& grids);

struct NewItem {
  std::string path;  // the item's name: no two items of a store have the same
  std::int64_t label = -1;
  std::string metadata{};                 // a JSON object, or ""
  std::vector<std::uint8_t> thumbnail{};  // JPEG, or nothing
};

struct Item {
  std::int64_t id = 0;
  std::string path;
  std::int64_t label = -1;
  std::string metadata;  // a JSON object, "{}" where nothing was given
};

// All global vectors of a store, in the order of the ids: what a first stage is made from.
struct StoredVectors {
  std::vector<std::int64_t> ids;     // ascending
  std::vector<std::int64_t> labels;  // [ids]
  std::vector<float> globals;        // [ids, dim]
};

// What an older revision does not know: new items have higher ids than all before.
struct StoreChanges {
  std::int64_t first_new_id = 0;      // ids from here on are new
  std::vector<std::int64_t> removed;  // ascending; lower ids that are not there any more
};

struct StoreFaults {
  std::size_t items = 0;              // that were looked at
  std::vector<std::int64_t> damaged;  // ascending; removing them makes the store whole
  std::vector<std::string> faults;    // everything that is wrong, a line each
};

// A store as it was at one moment, whatever is added and removed meanwhile. For one thread at a
// time. While it lives the space of what is removed is not used again: keep it for a short time.
class GridSnapshot {
 public:
  virtual ~GridSnapshot() = default;

  virtual const GridFormat& format() const = 0;
  virtual std::uint64_t revision() const = 0;  // one more after each change
  virtual std::uint64_t birth() const = 0;     // of the store: no other has the same
  virtual std::size_t size() const = 0;
  virtual bool contains(std::int64_t id) const = 0;
  virtual std::optional<std::int64_t> find(const std::string& path) const = 0;

  // These throw where there is no such item, and where it is damaged.
  virtual Item item(std::int64_t id) const = 0;
  virtual std::vector<std::uint8_t> thumbnail(std::int64_t id) const = 0;
  // Where the grid lies. The view is valid as long as the snapshot.
  virtual GridView grid(std::int64_t id) const = 0;

  // Visits the global vectors of ids >= first in ascending order, until the visitor returns false.
  // global: [dim], valid during the call; it may lie at any address, so copy it with memcpy.
  using Visitor = std::function<bool(std::int64_t id, std::int64_t label, const void* global)>;
  virtual void visit(std::int64_t first, const Visitor& visitor) const = 0;

  // Nothing where the store does not remember that revision: then everything must be read again.
  virtual std::optional<StoreChanges> changes_since(std::uint64_t revision) const = 0;

  // Looks at every record: checksums, sizes, and that all parts of the store agree.
  virtual StoreFaults verify(const Progress& progress = {}) const = 0;

  std::vector<std::int64_t> ids() const;  // ascending
  std::vector<GridView> grids(std::span<const std::int64_t> ids) const;
  StoredVectors vectors(std::int64_t first = 0, const Progress& progress = {}) const;
};

enum class StoreAccess : std::uint8_t { read, write };
enum class Duplicates : std::uint8_t { refuse, replace };

// The collection: items and their grids, by id. What add() and remove() have done is there when
// they return, each call as a whole or not at all. Any number of threads may read while others
// write.
class GridStore {
 public:
  virtual ~GridStore() = default;

  virtual const std::string& name() const = 0;  // for messages: the folder, the address
  virtual const GridFormat& format() const = 0;
  virtual std::unique_ptr<GridSnapshot> snapshot() const = 0;

  // grids: [items.size()] of the store's shape and cell type. Returns their ids, which ascend and
  // which no other item ever had or will have. An item of the same path is replaced, or all are
  // refused.
  virtual std::vector<std::int64_t> add(std::span<const NewItem> items, const GridSetView& grids,
                                        Duplicates duplicates = Duplicates::refuse) = 0;

  // Throws, and removes nothing, where one of them is not there.
  virtual void remove(std::span<const std::int64_t> ids) = 0;

  // Bytes that the store takes, and those of them that wait to be used again.
  struct Space {
    std::uint64_t used = 0;
    std::uint64_t free = 0;
  };
  virtual Space space() const = 0;
};

// A store in memory, of the same behaviour; it ends with the process.
std::shared_ptr<GridStore> make_memory_store(const GridFormat& format);

}  // namespace diml
