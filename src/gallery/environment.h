#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <lmdb.h>

#include "diml/grid_store.h"

namespace diml::gallery {

using Bytes = std::span<const std::byte>;

// The tables of a gallery. Keys of items, globals and changes are ids or revisions, most
// significant byte first. Galleries of an older diml have no table of changes until something is
// written.
enum class Table : std::uint8_t { about, items, globals, paths, changes };
constexpr std::size_t kTables = 5;

// An open LMDB file. A process must not open one twice: open() hands out the one there is.
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
  std::string data_file() const { return folder_ + "/data.mdb"; }

  // Throws with the folder's name and the remedy unless all went well.
  void check(int code) const;

 private:
  Environment(std::string folder, StoreAccess access, Wanted wanted);
  void open_file();
  void open_tables(Wanted wanted);
  void expect_whole_file() const;

  std::string folder_;
  StoreAccess access_;
  MDB_env* env_ = nullptr;
  MDB_dbi tables_[kTables] = {};
  bool has_changes_ = true;
};

// Reads, or writes once commit() was called.
class Transaction {
 public:
  Transaction(std::shared_ptr<Environment> environment, StoreAccess access);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  MDB_txn* get() const { return txn_; }
  const Environment& environment() const { return *environment_; }

  // What is read lies in the file: it goes with the transaction.
  std::optional<Bytes> find(Table table, Bytes key) const;
  void put(Table table, Bytes key, Bytes value);
  void append(Table table, Bytes key, Bytes value);  // behind all others
  bool remove(Table table, Bytes key);               // whether it was there
  std::size_t count(Table table) const;
  void commit();

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

  bool next();           // to the first at first; false behind the last
  bool seek(Bytes key);  // to the first that is not before `key`; false where there is none
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
