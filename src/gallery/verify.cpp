#include <algorithm>
#include <set>

#include "lmdb_store.h"
#include "records.h"

namespace diml::gallery {
namespace {

// Walks over the tables and compares them.
class Verifier {
 public:
  Verifier(const LmdbSnapshot& snapshot, const Transaction& transaction, const Progress& progress)
      : snapshot_(snapshot), transaction_(transaction), progress_(progress) {}

  StoreFaults run() {
    look_at_pages();
    if (!result_.faults.empty()) return std::move(result_);  // LMDB must not follow these pages
    look_at_description();
    look_at_items();
    look_at_globals();
    look_at_paths();
    result_.damaged.assign(damaged_.begin(), damaged_.end());
    return std::move(result_);
  }

 private:
  void blame(std::int64_t id, const std::string& what) {
    damaged_.insert(id);
    result_.faults.push_back("item " + std::to_string(id) + ": " + what);
  }

  void look_at_pages() {
    std::string fault =
        transaction_.environment().fault_of_pages(transaction_.get(), WalkDepth::everything);
    if (!fault.empty()) result_.faults.push_back(std::move(fault));
  }

  void look_at_description() {
    const auto next = transaction_.find(Table::about, bytes_of(kNextId));
    if (!next || next->size() != sizeof(std::uint64_t)) {
      result_.faults.emplace_back("the next id is missing");
      return;
    }
    next_id_ = static_cast<std::int64_t>(number_in(*next));
  }

  void look_at_items() {
    constexpr std::size_t kBetweenReports = 256;
    const std::size_t count = transaction_.count(Table::items);
    const GridFormat& format = snapshot_.format();
    const std::size_t cell_bytes = format.cells_per_grid * format.dim * size_of(format.type);
    Cursor cursor(transaction_, Table::items);
    while (cursor.next()) {
      const std::int64_t id = id_of(cursor.key());
      ItemRecord item;
      if (!is_intact(cursor.key(), cursor.value())) {
        blame(id, "the checksum of its grid, text or thumbnail is wrong");
      } else if (!decode(cursor.value(), item) || item.cells.size() != cell_bytes) {
        blame(id, "its grid has another shape than the gallery's");
      } else if (snapshot_.find(std::string(item.path)) != id) {
        blame(id, "it cannot be found by its path");
      }
      if (id < 0 || id >= next_id_) blame(id, "its id is not in use yet");
      if (!transaction_.find(Table::globals, cursor.key())) blame(id, "it has no global vector");
      ++result_.items;
      if (result_.items % kBetweenReports == 0 || result_.items == count) {
        progress_(result_.items, count);
        progress_.stop_if_cancelled();
      }
    }
  }

  void look_at_globals() {
    Cursor cursor(transaction_, Table::globals);
    while (cursor.next()) {
      const std::int64_t id = id_of(cursor.key());
      GlobalRecord global;
      if (!is_intact(cursor.key(), cursor.value())) {
        blame(id, "the checksum of its global vector or label is wrong");
      } else if (!decode(cursor.value(), snapshot_.format().dim, global)) {
        blame(id, "its global vector has another length than the gallery's");
      }
      if (!transaction_.find(Table::items, cursor.key())) blame(id, "it has no grid");
    }
  }

  void look_at_paths() {
    Cursor cursor(transaction_, Table::paths);
    while (cursor.next()) {
      const std::int64_t id = id_of(cursor.value());
      if (!transaction_.find(Table::items, key_of(id))) {
        blame(id, "a path refers to it, but it does not exist");
      }
    }
    const std::size_t items = transaction_.count(Table::items);
    const std::size_t paths = transaction_.count(Table::paths);
    if (paths != items) {
      result_.faults.push_back(std::to_string(paths) + " paths are known of " +
                               std::to_string(items) + " items");
    }
  }

  const LmdbSnapshot& snapshot_;
  const Transaction& transaction_;
  const Progress& progress_;
  std::int64_t next_id_ = 0;
  std::set<std::int64_t> damaged_;
  StoreFaults result_;
};

}  // namespace

StoreFaults LmdbSnapshot::verify(const Progress& progress) const {
  return Verifier(*this, transaction_, progress).run();
}

}  // namespace diml::gallery
