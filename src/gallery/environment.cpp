#include "environment.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/system_error.h"
#include "diml/error.h"

namespace diml::gallery {
namespace {

namespace fs = std::filesystem;

// Address space, not memory or disk: a growing gallery never has to be remapped while it is being
// read. If the system refuses, half of it is tried, and so on.
constexpr std::size_t kMostAddresses = std::size_t{1} << 40;
constexpr std::size_t kFewestAddresses = std::size_t{1} << 30;
constexpr unsigned kMostReaders = 1022;
constexpr off_t kLockBytes = 65536;  // enough for the table of readers
constexpr const char* kRestore =
    ": the file is damaged: take a copy from a backup, or build the gallery again";
constexpr std::array<const char*, kTables> kTableNames = {"about", "items", "globals", "paths",
                                                          "changes"};

MDB_val value_of(Bytes bytes) { return {bytes.size(), const_cast<std::byte*>(bytes.data())}; }

Bytes bytes_of(const MDB_val& value) {
  return {static_cast<const std::byte*>(value.mv_data), value.mv_size};
}

// "room": the parameter of errors that only more room for the gallery mends.
Error full_disk(const Environment& environment, int code) {
  const Error error = system_error(environment.data_file() + ": cannot be written", code);
  return {
      error.kind(),
      error.what() +
          std::string(": free some disk space and repeat the call; everything before it is kept"),
      "room"};
}

// Neither on the disk nor for a file of this process (ulimit -f).
bool has_no_room(const Environment& environment) {
  constexpr std::uintmax_t kLittle = std::uintmax_t{1} << 20;
  std::error_code unknown;
  const fs::space_info space = fs::space(environment.folder(), unknown);
  if (!unknown && space.available < kLittle) return true;
  rlimit most{};
  if (::getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY) return false;
  const std::uintmax_t bytes = fs::file_size(environment.data_file(), unknown);
  return !unknown && bytes + kLittle > most.rlim_cur;
}

// code: one of LMDB's, or an errno.
Error error_of(int code, const Environment& environment) {
  using enum ErrorKind;
  const std::string& folder = environment.folder();
  switch (code) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return full_disk(environment, code);
    case EIO:
      // Also LMDB's code for an incomplete write.
      if (has_no_room(environment)) return full_disk(environment, ENOSPC);
      return with_context(system_error(environment.data_file() + ": cannot be written", code), "",
                          ": the disk fails, see the system's log; everything before is kept");
    case EACCES:
    case EPERM:
    case EROFS:
      if (environment.access() == StoreAccess::write) {
        const Error error = system_error(folder + ": cannot be written", code);
        // Not a matter of who asks once it was open for writing.
        return {environment.is_open() ? out_of_resources : error.kind(), error.what(), "read_only"};
      }
      return with_context(system_error(folder + ": cannot be opened", code), "",
                          ": readers need the permission to read data.mdb");
    case MDB_MAP_FULL:
    case MDB_MAP_RESIZED:
      return {out_of_resources,
              folder + ": is larger than the address space of this process: raise ulimit -v",
              "room"};
    case MDB_READERS_FULL:
      return {out_of_resources, folder + ": has " + std::to_string(kMostReaders) +
                                    " readers already: wait until some of them have ended"};
    case MDB_INVALID:
    case MDB_VERSION_MISMATCH:
      return {
          code == MDB_INVALID ? damaged : unsupported,
          environment.data_file() + ": is not a gallery of this version of diml: build a new one"};
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_PANIC:
    case MDB_BAD_TXN:
      return {damaged, environment.data_file() +
                           ": is damaged: take a copy from a backup, or build the gallery again"};
    default:  // LMDB's own codes are negative
      return {code > 0 ? kind_of_errno(code) : internal, folder + ": " + mdb_strerror(code)};
  }
}

// LMDB maps its table of readers and writes into it: on a full disk that would end the process. So
// the disk space is allocated first. All other errors are reported when the file is opened.
int take_room_for_lock(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return errno == ENOSPC || errno == EDQUOT ? errno : 0;
  const int code = ::posix_fallocate(file, 0, kLockBytes);
  ::close(file);
  return code == ENOSPC || code == EDQUOT || code == EFBIG ? code : 0;
}

// Whether this process may write to the table of readers. Other errors are reported when LMDB opens
// the file.
bool may_lock(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return errno != EACCES && errno != EROFS && errno != EPERM;
  ::close(file);
  return true;
}

// The open galleries of this process, by canonical path.
struct Registry {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<Environment>> open;
};

Registry& registry() {
  static Registry all;
  return all;
}

}  // namespace

std::shared_ptr<Environment> Environment::open(const std::string& folder, StoreAccess access,
                                               Wanted wanted) {
  std::error_code unknown;
  const std::string place = fs::weakly_canonical(folder, unknown).string();
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::weak_ptr<Environment>& known = all.open[place];
  if (std::shared_ptr<Environment> there = known.lock()) {
    if (access == StoreAccess::write && there->access() == StoreAccess::read) {
      throw Error(ErrorKind::conflict,
                  folder + ": is open in this process for reading only: open it for writing first");
    }
    return there;
  }
  // The constructor is private, so that a file is never opened twice.
  std::shared_ptr<Environment> fresh(new Environment(folder, access, wanted));
  known = fresh;
  return fresh;
}

Environment::Environment(std::string folder, StoreAccess access, Wanted wanted)
    : folder_(std::move(folder)), access_(access) {
  try {
    if (wanted == Wanted::existing) expect_whole_head();
    open_file();
    expect_whole_file();
    if (wanted == Wanted::existing) expect_whole_pages();
    int dead = 0;
    mdb_reader_check(env_, &dead);  // slots of killed readers
    open_tables(wanted);
    is_open_ = true;
  } catch (...) {
    if (env_ != nullptr) mdb_env_close(env_);
    throw;
  }
}

Environment::~Environment() { mdb_env_close(env_); }

void Environment::open_file() {
  check(take_room_for_lock(folder_ + "/lock.mdb"));
  // Readers may move between threads.
  unsigned flags = MDB_NOTLS | (access_ == StoreAccess::read ? MDB_RDONLY : 0U);
  // Another user's gallery, or one on a read-only disk: LMDB insists on a lock that it can write.
  locks_ = access_ == StoreAccess::write || may_lock(folder_ + "/lock.mdb");
  if (!locks_) flags |= MDB_NOLOCK;
  for (std::size_t addresses = kMostAddresses;; addresses /= 2) {
    check(mdb_env_create(&env_));
    check(mdb_env_set_maxdbs(env_, kTables));
    check(mdb_env_set_maxreaders(env_, kMostReaders));
    check(mdb_env_set_mapsize(env_, addresses));
    const int code = mdb_env_open(env_, folder_.c_str(), flags, 0666);
    if (code == 0) return;
    mdb_env_close(env_);
    env_ = nullptr;
    if (code != ENOMEM || addresses <= kFewestAddresses) check(code);
  }
}

// Reading the missing part of a truncated file would end the process.
void Environment::expect_whole_file() const {
  MDB_envinfo info;
  MDB_stat stat;
  check(mdb_env_info(env_, &info));
  check(mdb_env_stat(env_, &stat));
  std::error_code failed;
  const std::uintmax_t bytes = fs::file_size(data_file(), failed);
  if (!failed && info.me_last_pgno > 1 && bytes < (info.me_last_pgno + 1) * stat.ms_psize) {
    throw Error(
        ErrorKind::damaged,
        data_file() + ": is truncated: take a copy from a backup, or build the gallery again");
  }
}

void Environment::expect_whole_head() const {
  const std::optional<std::string> fault = fault_of_head(data_file());
  if (fault) throw Error(ErrorKind::damaged, data_file() + ": " + *fault + kRestore);
}

// A state that writers overtake is looked at anew: with a lock that happens only between the start
// of the reader and the first look at the file.
void Environment::expect_whole_pages() const {
  constexpr int kTries = 8;
  WalkResult walked{WalkEnd::overtaken};
  for (int k = 0; k < kTries && walked.end != WalkEnd::whole; ++k) {
    MDB_txn* txn = nullptr;
    check(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn));
    try {
      walked = walk_pages(data_file(), mdb_txn_id(txn), WalkDepth::structure);
    } catch (...) {
      mdb_txn_abort(txn);
      throw;
    }
    mdb_txn_abort(txn);
    if (walked.end == WalkEnd::damaged && locks_) break;
  }
  if (walked.end == WalkEnd::damaged) {
    throw Error(ErrorKind::damaged, data_file() + ": " + walked.fault + kRestore);
  }
  if (walked.end == WalkEnd::overtaken) {
    throw Error(ErrorKind::conflict,
                folder_ + ": was changed all the time while it was checked: repeat the call");
  }
}

std::string Environment::fault_of_pages(MDB_txn* txn, WalkDepth depth) const {
  const WalkResult walked = walk_pages(data_file(), mdb_txn_id(txn), depth);
  return walked.end == WalkEnd::damaged ? "data.mdb: " + walked.fault + kRestore : "";
}

void Environment::open_tables(Wanted wanted) {
  MDB_txn* txn = nullptr;
  check(mdb_txn_begin(env_, nullptr, access_ == StoreAccess::read ? MDB_RDONLY : 0U, &txn));
  for (std::size_t t = 0; t < kTables; ++t) {
    const bool is_new = t == static_cast<std::size_t>(Table::changes);
    const bool make = wanted == Wanted::fresh || (is_new && access_ == StoreAccess::write);
    const int code = mdb_dbi_open(txn, kTableNames[t], make ? MDB_CREATE : 0U, &tables_[t]);
    if (code == 0) continue;
    if (code == MDB_NOTFOUND && is_new) {
      has_changes_ = false;
      continue;
    }
    mdb_txn_abort(txn);
    if (code == MDB_NOTFOUND) {
      throw Error(ErrorKind::damaged,
                  folder_ +
                      ": building this gallery was interrupted: delete the folder and build it "
                      "again");
    }
    check(code);
  }
  check(mdb_txn_commit(txn));
}

void Environment::check(int code) const {
  if (code != 0) throw error_of(code, *this);
}

Transaction::Transaction(std::shared_ptr<Environment> environment, StoreAccess access)
    : environment_(std::move(environment)) {
  if (access == StoreAccess::write && environment_->access() == StoreAccess::read) {
    throw Error(environment_->folder() + ": is open for reading only");
  }
  environment_->check(mdb_txn_begin(environment_->get(), nullptr,
                                    access == StoreAccess::read ? MDB_RDONLY : 0U, &txn_));
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
  if (txn_ != nullptr) mdb_txn_abort(txn_);
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
  MDB_val at = value_of(key);
  MDB_val what = value_of(value);
  environment_->check(mdb_put(txn_, environment_->table(table), &at, &what, flags));
}

void Transaction::put(Table table, Bytes key, Bytes value) { put(table, key, value, 0U); }

void Transaction::append(Table table, Bytes key, Bytes value) {
  put(table, key, value, MDB_APPEND);
}

bool Transaction::remove(Table table, Bytes key) {
  MDB_val wanted = value_of(key);
  const int code = mdb_del(txn_, environment_->table(table), &wanted, nullptr);
  if (code == MDB_NOTFOUND) return false;
  environment_->check(code);
  return true;
}

std::size_t Transaction::count(Table table) const {
  MDB_stat stat;
  environment_->check(mdb_stat(txn_, environment_->table(table), &stat));
  return stat.ms_entries;
}

void Transaction::commit() {
  MDB_txn* ending = txn_;
  txn_ = nullptr;  // freed by LMDB, also on failure
  environment_->check(mdb_txn_commit(ending));
}

Cursor::Cursor(const Transaction& transaction, Table table) : transaction_(transaction) {
  const Environment& environment = transaction_.environment();
  environment.check(mdb_cursor_open(transaction_.get(), environment.table(table), &cursor_));
}

Cursor::~Cursor() { mdb_cursor_close(cursor_); }

bool Cursor::next() { return move({}, started_ ? MDB_NEXT : MDB_FIRST); }

bool Cursor::seek(Bytes key) { return move(key, MDB_SET_RANGE); }

bool Cursor::move(Bytes wanted, MDB_cursor_op operation) {
  MDB_val key = value_of(wanted);
  MDB_val value;
  const int code = mdb_cursor_get(cursor_, &key, &value, operation);
  started_ = true;
  transaction_.expect_unchanged();
  if (code == MDB_NOTFOUND) return false;
  transaction_.environment().check(code);
  key_ = bytes_of(key);
  value_ = bytes_of(value);
  return true;
}

}  // namespace diml::gallery
