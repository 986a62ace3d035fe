#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include <lmdb.h>
#include <sys/stat.h>

#include "diml/grid_store.h"
#include "page_walk.h"
#include "pages.h"
#include "slow_sums.h"

namespace diml::gallery {

// The tables of a gallery. Keys of items, globals and changes are ids or revisions, most
// significant byte first. Galleries of an older diml have no table of changes until something is
// written.
enum class Table : std::uint8_t { about, items, globals, paths, changes };
constexpr std::size_t kTables = 5;

// Before a state that writers change all the time is given up.
constexpr int kLooks = 8;

// A file, whatever its name is now.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  auto operator<=>(const FileId&) const = default;
};

// An open LMDB file. A process must not open a file twice: open() returns the existing object.
class Environment {
 public:
  enum class Wanted : std::uint8_t { existing, fresh };

  static std::shared_ptr<Environment> open(const std::string& folder, StoreAccess access,
                                           Wanted wanted);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  const std::string& folder() const { return folder_; }
  StoreAccess access() const { return access_; }
  MDB_env* get() const { return env_; }
  MDB_dbi table(Table table) const { return tables_[static_cast<std::size_t>(table)]; }
  bool has(Table table) const { return table != Table::changes || has_changes_; }
  // Whether writers know of the readers of this process; false where lock.mdb cannot be written.
  bool locks() const { return locks_; }
  const std::string& data_file() const { return data_file_; }
  SlowSums& slow_sums(Table table) const { return slow_sums_[static_cast<std::size_t>(table)]; }

  // Throws where the folder holds another file than the one that is open here.
  void expect_in_place() const { (void)state_in_place(); }

  // To be called before the pages of a state are used, until it says that they are whole: each time
  // with a new reader. state: the transaction that wrote it. Looks at its pages where others than
  // this process wrote it, or something has changed the file since.
  WalkResult look_at(std::uint64_t state) const;
  // Throws where such looks end with something else.
  void expect_whole(const WalkResult& last_look) const;

  // The first fault of the pages of a state, with the remedy; "" for none.
  std::string fault_of_pages(std::uint64_t state, WalkDepth depth) const;

  // Where LMDB has mapped the file is known once a small record of it is.
  bool knows_map() const { return map_ != nullptr; }
  void learn_map(const std::byte* small_record) const;
  // Throws where the record, of the given state, lies on pages whose first one is damaged: LMDB
  // believes it when it frees them.
  void expect_freeable(Bytes record, std::uint64_t state) const;

  // Around each writing transaction, so that its own writing is not taken for that of others.
  // state: what was committed; 0 for nothing.
  void begin_writing() const;
  void end_writing(std::uint64_t state) const noexcept;

  // On an error code, throws with the folder's name and the remedy.
  void check(int code) const;

 private:
  using Clock = std::chrono::steady_clock;

  Environment(std::string folder, StoreAccess access, Wanted wanted);
  void open_file();
  void open_tables(Wanted wanted);
  void expect_whole_head() const;
  void expect_whole_file() const;
  void expect_whole_pages() const;
  struct stat state_in_place() const;

  std::string folder_;
  std::string data_file_;
  // A write of LMDB's own pages has failed: it takes no more calls until it is opened again.
  const std::shared_ptr<std::atomic<bool>> failed_ = std::make_shared<std::atomic<bool>>(false);
  StoreAccess access_;
  MDB_env* env_ = nullptr;
  MDB_dbi tables_[kTables] = {};
  bool has_changes_ = true;
  bool locks_ = true;
  bool is_open_ = false;  // opening has ended well
  FileId id_;
  std::size_t page_size_ = 0;
  std::size_t map_bytes_ = 0;
  mutable std::atomic<const std::byte*> map_ = nullptr;
  mutable std::array<SlowSums, kTables> slow_sums_;

  mutable std::mutex mutex_;               // guards the members below
  mutable std::set<std::uint64_t> whole_;  // states whose pages were looked at, the latest few
  mutable std::uint64_t whole_heads_ = 0;  // a state whose large records were looked at, too
  mutable struct stat seen_ {};            // the file, when that was done
  mutable Clock::time_point next_walk_{};  // because of a file that changes
  mutable bool writing_ = false;           // this process is, and no other can be
};

// Reads; writes take effect with commit().
class Transaction {
 public:
  Transaction(std::shared_ptr<Environment> environment, StoreAccess access);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  MDB_txn* get() const { return txn_; }
  const Environment& environment() const { return *environment_; }
  // The state that it reads or changes: the transaction that wrote it.
  std::uint64_t state() const;

  // Values are views into the file, valid until the transaction ends. put() and remove() throw
  // where LMDB would follow a damaged page.
  std::optional<Bytes> find(Table table, Bytes key) const;
  void put(Table table, Bytes key, Bytes value);
  void append(Table table, Bytes key, Bytes value);  // key: after all existing ones
  bool remove(Table table, Bytes key);               // returns whether it existed
  std::size_t count(Table table) const;
  void commit();
  // Throws Error of kind conflict if the values that were found may have been overwritten.
  void expect_unchanged() const;

 private:
  WalkResult begin();
  void abort();
  void put(Table table, Bytes key, Bytes value, unsigned flags);

  std::shared_ptr<Environment> environment_;
  StoreAccess access_;
  MDB_txn* txn_ = nullptr;
};

// Walks over a table in the order of its keys.
class Cursor {
 public:
  Cursor(const Transaction& transaction, Table table);
  ~Cursor();
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  bool next();           // first call: to the first; false after the last
  bool previous();       // first call, and after the end: to the last; false before the first
  bool seek(Bytes key);  // to the first key >= `key`; false if there is none
  Bytes key() const { return key_; }
  Bytes value() const { return value_; }

 private:
  bool move(Bytes wanted, MDB_cursor_op operation);

  const Transaction& transaction_;
  MDB_cursor* cursor_ = nullptr;
  bool started_ = false;
  bool at_end_ = false;
  Bytes key_;
  Bytes value_;
};

}  // namespace diml::gallery
