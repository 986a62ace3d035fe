#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <lmdb.h>

#include "diml/grid_store.h"
#include "page_walk.h"

namespace diml::gallery {

using Bytes = std::span<const std::byte>;

// The tables of a gallery. Keys of items, globals and changes are ids or revisions, most
// significant byte first. Galleries of an older diml have no table of changes until something is
// written.
enum class Table : std::uint8_t { about, items, globals, paths, changes };
constexpr std::size_t kTables = 5;

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
  // Opening has ended well: what fails from here on is not a matter of the caller's choice.
  bool is_open() const { return is_open_; }
  std::string data_file() const { return folder_ + "/data.mdb"; }

  // The first fault of the pages of the state that `txn` reads, with the remedy; "" for none.
  std::string fault_of_pages(MDB_txn* txn, WalkDepth depth) const;

  // On an error code, throws with the folder's name and the remedy.
  void check(int code) const;

 private:
  Environment(std::string folder, StoreAccess access, Wanted wanted);
  void open_file();
  void open_tables(Wanted wanted);
  void expect_whole_head() const;
  void expect_whole_file() const;
  void expect_whole_pages() const;

  std::string folder_;
  StoreAccess access_;
  MDB_env* env_ = nullptr;
  MDB_dbi tables_[kTables] = {};
  bool has_changes_ = true;
  bool locks_ = true;
  bool is_open_ = false;
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

  // Values are views into the file, valid until the transaction ends.
  std::optional<Bytes> find(Table table, Bytes key) const;
  void put(Table table, Bytes key, Bytes value);
  void append(Table table, Bytes key, Bytes value);  // key: after all existing ones
  bool remove(Table table, Bytes key);               // returns whether it existed
  std::size_t count(Table table) const;
  void commit();
  // Throws Error of kind conflict if the values that were found may have been overwritten.
  void expect_unchanged() const;

 private:
  void put(Table table, Bytes key, Bytes value, unsigned flags);

  std::shared_ptr<Environment> environment_;
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
  bool seek(Bytes key);  // to the first key >= `key`; false if there is none
  Bytes key() const { return key_; }
  Bytes value() const { return value_; }

 private:
  bool move(Bytes wanted, MDB_cursor_op operation);

  const Transaction& transaction_;
  MDB_cursor* cursor_ = nullptr;
  bool started_ = false;
  Bytes key_;
  Bytes value_;
};

}  // namespace diml::gallery
