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
    look_at_changes();
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
        transaction_.environment().fault_of_pages(transaction_.state(), WalkDepth::everything);
    if (!fault.empty()) result_.faults.push_back(std::move(fault));
  }

  void look_at_description() {
    version_ = decode_description(
                   transaction_.find(Table::about, bytes_of(kDescription)).value_or(Bytes()),
                   transaction_.environment().folder())
                   .version;
    next_id_ = static_cast<std::int64_t>(number(kNextId, "the next id"));
    revision_ = number(kRevision, "the revision");
  }

  std::uint64_t number(std::string_view name, const char* words) {
    const auto record = transaction_.find(Table::about, bytes_of(name));
    const auto number = record ? decode_number(name, *record) : std::nullopt;
    const bool sealed = record && record->size() > sizeof(std::uint64_t);
    if (!number || (version_ >= kSealedNumbers && !sealed)) {
      result_.faults.push_back(words + std::string(record ? " is damaged" : " is missing"));
    }
    return number.value_or(0);
  }

  // The changes of the last revisions, without a gap.
  void look_at_changes() {
    if (version_ < kSealedNumbers) return;
    if (!transaction_.environment().has(Table::changes)) return;
    const std::size_t count = transaction_.count(Table::changes);
    auto expected = static_cast<std::int64_t>(revision_ - count);
    Cursor cursor(transaction_, Table::changes);
    while (cursor.next()) {
      const auto numbers = decode_numbers(cursor.key(), cursor.value());
      if (id_of(cursor.key()) == ++expected && numbers && !numbers->empty() &&
          numbers->front() <= next_id_) {
        continue;
      }
      result_.faults.push_back("the changes of revision " + std::to_string(expected) +
                               " are damaged or missing");
      return;
    }
  }

  void look_at_items() {
    constexpr std::size_t kBetweenReports = 256;
    const std::size_t count = transaction_.count(Table::items);
    const GridFormat& format = snapshot_.format();
    const std::size_t cell_bytes = bytes_of_grid(format.type, format.cells_per_grid, format.dim);
    Cursor cursor(transaction_, Table::items);
    while (cursor.next()) {
      const std::int64_t id = id_of(cursor.key());
      ItemRecord item;
      if (!is_intact(Table::items, cursor.key(), cursor.value())) {
        blame(id, "the checksum of its grid, text or thumbnail is wrong");
      } else if (!decode(cursor.value(), item) || item.cells.size() != cell_bytes) {
        blame(id, "its grid has another shape than the gallery's");
      } else if (id_by_path(item) != id) {
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

  // -1 for none.
  std::int64_t id_by_path(const ItemRecord& item) const {
    const std::string key = path_key(std::string(item.path));
    const auto record = transaction_.find(Table::paths, bytes_of(key));
    if (!record || (path_has_checksum(*record) && !is_intact_path(bytes_of(key), *record))) {
      return -1;
    }
    return id_of_path(*record);
  }

  void look_at_globals() {
    Cursor cursor(transaction_, Table::globals);
    while (cursor.next()) {
      const std::int64_t id = id_of(cursor.key());
      GlobalRecord global;
      if (!is_intact(Table::globals, cursor.key(), cursor.value())) {
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
      const std::int64_t id = id_of_path(cursor.value());
      if (path_has_checksum(cursor.value()) && !is_intact_path(cursor.key(), cursor.value())) {
        result_.faults.push_back("the path of item " + std::to_string(id) + " is damaged");
      } else if (!transaction_.find(Table::items, key_of(id))) {
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
  int version_ = kFormatVersion;
  std::int64_t next_id_ = 0;
  std::uint64_t revision_ = 0;
  std::set<std::int64_t> damaged_;
  StoreFaults result_;
};

}  // namespace

StoreFaults LmdbSnapshot::verify(const Progress& progress) const {
  return Verifier(*this, transaction_, progress).run();
}

}  // namespace diml::gallery
