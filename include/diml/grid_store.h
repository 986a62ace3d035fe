#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diml/grid.h"
#include "diml/progress.h"

namespace diml {

class Filter;

// What all grids of a store have in common.
struct GridFormat {
  std::size_t cells_per_grid = 0;
  std::size_t dim = 0;
  CellType type = CellType::float16;  // of the cells; globals are always float32
  // How images became grids, in words: "sha256" of the model, "grid", "pooling", "projection",
  // "resize" and so on. Empty where that is unknown: then photos cannot be compared with the grids.
  std::map<std::string, std::string> embedding{};
  std::string model{};  // the path of the model, to find it again; not compared
};

// "4 x 4 x 128", or "6 x 16" where the cells are not a square.
std::string shape_text(const GridFormat& format);

// Throws, with the remedy, where grids of `other` cannot be compared with grids of `format`.
// what: "the query", for the message.
void expect_same_embedding(const GridFormat& format, const GridFormat& other,
                           const std::string& what);

// Throws where `grids` are not one for each item, of the store's shape and type.
void expect_fit(const GridFormat& format, std::size_t items, const GridSetView& grids);

// Throws where a label is too long. path: of the item, for the message.
void expect_label(const std::string& label, const std::string& path);

// In bytes. "" is no label.
constexpr std::size_t kLongestLabel = 1024;

// The file that an item was made of, as it was then: so a change of it is noticed.
struct SourceFile {
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // nanoseconds since 1970
  std::string sha256{};       // of its bytes
};

struct NewItem {
  std::string path;  // the item's name: no two items of a store have the same
  std::string label{};
  std::string metadata{};                 // a JSON object, or ""
  std::vector<std::uint8_t> thumbnail{};  // JPEG, or nothing
  std::optional<SourceFile> source{};     // none: of no file, or not known
};

struct Item {
  std::int64_t id = 0;
  std::string path;
  std::string label;
  std::string metadata;  // a JSON object, "{}" where nothing was given
  std::optional<SourceFile> source{};
};

// What is new of an item; the rest of it, and its grid, stay as they are.
struct ItemUpdate {
  std::int64_t id = 0;
  std::optional<std::string> label{};     // "": no label any more
  std::optional<std::string> metadata{};  // in the place of the whole object
  std::optional<SourceFile> source{};
};

// All global vectors of a store, in the order of the ids: what a first stage is made from.
struct StoredVectors {
  std::vector<std::int64_t> ids;  // ascending
  std::vector<float> globals;     // [ids, dim]
};

// The changes since an older revision. New items have higher ids than all older ones.
struct StoreChanges {
  std::int64_t first_new_id = 0;        // ids from here on are new
  std::vector<std::int64_t> removed;    // ascending; lower ids that were removed since
  std::vector<std::int64_t> updated{};  // ascending; lower ids with another label or metadata
};

// What a store holds, in numbers.
struct StoreSummary {
  std::size_t labels = 0;  // that differ
  std::int64_t first_id = -1;
  std::int64_t last_id = -1;  // both -1 where there are no items
};

// An approximate index that a store keeps up to date by itself.
struct StoreIndex {
  std::string kind;                        // "pgvector"
  std::size_t items = 0;                   // when it was made
  std::uint64_t bytes = 0;                 // now
  std::map<std::size_t, double> recall{};  // by depth, against exact search, when it was made
  double seconds = 0.0;                    // that it took to make
  std::string caution{};                   // what the store said when it was made; "" for nothing
};

struct StoreFaults {
  std::size_t items = 0;              // that were checked
  std::vector<std::int64_t> damaged;  // ascending; removing them repairs the store
  std::vector<std::string> faults;    // everything that is wrong, a line each
};

// A store as it was at one moment; later changes do not affect it. For one thread at a time. While
// it exists, the space of removed items is not reused: keep it for a short time.
class GridSnapshot {
 public:
  virtual ~GridSnapshot() = default;

  virtual const GridFormat& format() const = 0;
  virtual std::uint64_t revision() const = 0;  // increases by 1 with each change
  virtual std::uint64_t birth() const = 0;     // id of the store: no other has the same
  virtual std::size_t size() const = 0;
  virtual bool contains(std::int64_t id) const = 0;
  virtual std::optional<std::int64_t> find(const std::string& path) const = 0;

  // These throw where the item does not exist, and where it is damaged.
  virtual Item item(std::int64_t id) const = 0;
  virtual std::vector<std::uint8_t> thumbnail(std::int64_t id) const = 0;
  // A view of the stored grid, valid as long as the snapshot.
  virtual GridView grid(std::int64_t id) const = 0;
  // Its global vector alone, [dim]: the cells are not touched.
  virtual const float* global(std::int64_t id) const = 0;

  // Visits the global vectors of ids >= first in ascending order, until the visitor returns false.
  // label, global: valid during the call. global: [dim]; it may lie at any address, so copy it with
  // memcpy.
  using Visitor = std::function<bool(std::int64_t id, std::string_view label, const void* global)>;
  virtual void visit(std::int64_t first, const Visitor& visitor) const = 0;

  // Nothing where the store has no record of that revision: then everything must be read again.
  virtual std::optional<StoreChanges> changes_since(std::uint64_t revision) const = 0;

  // Checks every record: checksums, sizes, and that all parts of the store agree. Can be cancelled
  // between two blocks of records.
  virtual StoreFaults verify(const Progress& progress = {}) const = 0;

  // The same for many ids at once, which a remote store answers in one round trip. Any order,
  // repeated or not.
  virtual std::vector<std::int64_t> ids() const;  // all, ascending
  virtual std::vector<Item> items(std::span<const std::int64_t> ids) const;
  virtual std::vector<std::vector<std::uint8_t>> thumbnails(
      std::span<const std::int64_t> ids) const;
  virtual std::vector<GridView> grids(std::span<const std::int64_t> ids) const;
  // Visits the global vectors of some ids, which ascend; those that do not exist are passed over.
  virtual void visit_some(std::span<const std::int64_t> ids, const Visitor& visitor) const;
  virtual StoreSummary summary() const;

  // The ids from `first` on that the filter admits, ascending, where the store finds them by
  // itself; nothing where its items must be read for that.
  virtual std::optional<std::vector<std::int64_t>> admitted(const Filter& filter,
                                                            std::int64_t first) const;
  // By the store's own index (GridStore::own_index): about the `depth` nearest to a query among the
  // items that the filter admits, in any order. query: [dim]. Fewer may be found than there are.
  virtual StoredVectors about_nearest(std::span<const float> query, std::size_t depth,
                                      const Filter& filter) const;

  // Ends the views that grid(), grids() and global() gave, so that a long walk need not hold all.
  virtual void end_views() const {}

  StoredVectors vectors(std::int64_t first = 0, const Progress& progress = {}) const;
};

enum class StoreAccess : std::uint8_t { read, write };
enum class Duplicates : std::uint8_t { refuse, replace };

// Tells of the changes of a store as they happen, by any process. For one thread.
class ChangeListener {
 public:
  virtual ~ChangeListener() = default;
  // Waits for a change, at most this long. Returns whether there may have been one since the last
  // call. Tries again where the store cannot be reached, and throws nothing.
  virtual bool await(std::chrono::milliseconds longest) = 0;
};

// The collection: items and their grids, by id. The changes of add(), update() and remove() are
// complete when they return; a call that throws changes nothing. Any number of threads may read
// while others write.
class GridStore {
 public:
  virtual ~GridStore() = default;

  virtual const std::string& name() const = 0;  // for messages: the folder, the address
  // A warning for the users of this store, in one line: where it is less safe than others. "" for
  // none.
  virtual std::string caution() const { return ""; }
  virtual const GridFormat& format() const = 0;
  virtual std::unique_ptr<GridSnapshot> snapshot() const = 0;

  // grids: [items.size()] of the store's shape and cell type. Returns their ids, which ascend and
  // which no other item ever had or will have. An item of the same path is replaced, or all are
  // refused.
  virtual std::vector<std::int64_t> add(std::span<const NewItem> items, const GridSetView& grids,
                                        Duplicates duplicates = Duplicates::refuse) = 0;

  // Throws, and changes nothing, where one of them does not exist. Ids stay.
  virtual void update(std::span<const ItemUpdate> updates) = 0;

  // Throws, and removes nothing, where one of them does not exist.
  virtual void remove(std::span<const std::int64_t> ids) = 0;

  // Bytes that the store occupies, those of them that are free for reuse, and how many it can
  // occupy as this process has opened it.
  struct Space {
    std::uint64_t used = 0;
    std::uint64_t free = 0;
    std::uint64_t most = 0;  // 0: no limit of its own

    // More than 90 % are in use: time to do something about it.
    bool is_nearly_full() const { return most > 0 && used - free > most / 10 * 9; }
  };
  virtual Space space() const = 0;

  // Null where the store does not tell of changes; its snapshots show them in any case.
  virtual std::unique_ptr<ChangeListener> listen() const { return nullptr; }

  // The approximate index that lies within the store; nothing where there is none.
  virtual std::optional<StoreIndex> own_index() const { return std::nullopt; }
  // Makes it, or makes it again. Throws where this kind of store has none.
  virtual StoreIndex make_own_index(const Progress& progress = {});
};

// A store in memory with the same behaviour; its items are lost when the process ends.
std::shared_ptr<GridStore> make_memory_store(const GridFormat& format);

}  // namespace diml
