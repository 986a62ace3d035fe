#include "diml/error.h"
#include "environment.h"
#include "records.h"

namespace diml::gallery {
namespace {

MDB_val value_of(Bytes bytes) { return {bytes.size(), const_cast<std::byte*>(bytes.data())}; }

Bytes bytes_of(const MDB_val& value) {
  return {static_cast<const std::byte*>(value.mv_data), value.mv_size};
}

}  // namespace

Transaction::Transaction(std::shared_ptr<Environment> environment, StoreAccess access)
    : environment_(std::move(environment)), access_(access) {
  if (access == StoreAccess::write && environment_->access() == StoreAccess::read) {
    throw Error(environment_->folder() + ": is open for reading only");
  }
  WalkResult looked{WalkEnd::overtaken};
  for (int k = 0; k < kLooks && looked.end != WalkEnd::whole; ++k) {
    looked = begin();
    if (looked.end == WalkEnd::damaged && environment_->locks()) break;
  }
  environment_->expect_whole(looked);
}

WalkResult Transaction::begin() {
  environment_->check(mdb_txn_begin(environment_->get(), nullptr,
                                    access_ == StoreAccess::read ? MDB_RDONLY : 0U, &txn_));
  try {
    WalkResult looked = environment_->look_at(state());
    if (looked.end != WalkEnd::whole) {
      abort();
      return looked;
    }
    if (access_ == StoreAccess::write) environment_->begin_writing();
    if (!environment_->knows_map()) {
      if (const auto small = find(Table::about, gallery::bytes_of(kRevision))) {
        environment_->learn_map(small->data());
      }
    }
    return looked;
  } catch (...) {
    abort();
    throw;
  }
}

void Transaction::abort() {
  mdb_txn_abort(txn_);
  txn_ = nullptr;
  if (access_ == StoreAccess::write) environment_->end_writing(0);
}

// Without a lock, writers do not know of this reader. LMDB never overwrites a page that the last
// two commits could see, so this snapshot is whole as long as at most one commit came after it, and
// everything that was read before this check is as it was committed.
void Transaction::expect_unchanged() const {
  if (environment_->locks()) return;
  MDB_envinfo info;
  environment_->check(mdb_env_info(environment_->get(), &info));
  if (info.me_last_txnid <= mdb_txn_id(txn_) + 1) return;
  throw Error(ErrorKind::conflict,
              environment_->folder() +
                  ": was changed while it was read without a lock: repeat the call, or allow this "
                  "user to write to lock.mdb (chmod a+rw)");
}

Transaction::~Transaction() {
  if (txn_ != nullptr) abort();
}

std::uint64_t Transaction::state() const {
  return mdb_txn_id(txn_) - (access_ == StoreAccess::write ? 1 : 0);
}

std::optional<Bytes> Transaction::find(Table table, Bytes key) const {
  MDB_val wanted = value_of(key);
  MDB_val found;
  const int code = mdb_get(txn_, environment_->table(table), &wanted, &found);
  expect_unchanged();
  if (code == MDB_NOTFOUND) return std::nullopt;
  environment_->check(code);
  return bytes_of(found);
}

void Transaction::put(Table table, Bytes key, Bytes value, unsigned flags) {
  if (const auto old = find(table, key)) environment_->expect_freeable(*old, state());
  MDB_val at = value_of(key);
  MDB_val what = value_of(value);
  environment_->check(mdb_put(txn_, environment_->table(table), &at, &what, flags));
}

void Transaction::put(Table table, Bytes key, Bytes value) { put(table, key, value, 0U); }

void Transaction::append(Table table, Bytes key, Bytes value) {
  put(table, key, value, MDB_APPEND);
}

bool Transaction::remove(Table table, Bytes key) {
  const auto old = find(table, key);
  if (!old) return false;
  environment_->expect_freeable(*old, state());
  MDB_val wanted = value_of(key);
  const int code = mdb_del(txn_, environment_->table(table), &wanted, nullptr);
  environment_->check(code);
  return true;
}

std::size_t Transaction::count(Table table) const {
  MDB_stat stat;
  environment_->check(mdb_stat(txn_, environment_->table(table), &stat));
  return stat.ms_entries;
}

// A folder that is replaced between the two looks has got the change, and nobody will see it there.
void Transaction::commit() {
  environment_->expect_in_place();
  const std::uint64_t written = state() + 1;
  MDB_txn* ending = txn_;
  txn_ = nullptr;  // freed by LMDB, also on failure
  const int code = mdb_txn_commit(ending);
  environment_->end_writing(code == 0 ? written : 0);
  environment_->check(code);
  environment_->expect_in_place();
}

Cursor::Cursor(const Transaction& transaction, Table table) : transaction_(transaction) {
  const Environment& environment = transaction_.environment();
  environment.check(mdb_cursor_open(transaction_.get(), environment.table(table), &cursor_));
}

Cursor::~Cursor() { mdb_cursor_close(cursor_); }

bool Cursor::next() { return move({}, started_ ? MDB_NEXT : MDB_FIRST); }

bool Cursor::previous() { return move({}, started_ && !at_end_ ? MDB_PREV : MDB_LAST); }

bool Cursor::seek(Bytes key) { return move(key, MDB_SET_RANGE); }

bool Cursor::move(Bytes wanted, MDB_cursor_op operation) {
  MDB_val key = value_of(wanted);
  MDB_val value;
  const int code = mdb_cursor_get(cursor_, &key, &value, operation);
  started_ = true;
  at_end_ = code == MDB_NOTFOUND && operation != MDB_PREV;
  transaction_.expect_unchanged();
  if (code == MDB_NOTFOUND) return false;
  transaction_.environment().check(code);
  key_ = bytes_of(key);
  value_ = bytes_of(value);
  return true;
}

}  // namespace diml::gallery
