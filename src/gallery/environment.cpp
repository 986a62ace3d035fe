#include "environment.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>

#include <fcntl.h>
#include <unistd.h>

#include "diml/error.h"

namespace diml::gallery {
namespace {

namespace fs = std::filesystem;

// Addresses, not memory or disk: a gallery that grows never has to be mapped anew under its
// readers. Where the system gives out fewer, half as many are asked for.
constexpr std::size_t kMostAddresses = std::size_t{1} << 40;
constexpr std::size_t kFewestAddresses = std::size_t{1} << 30;
constexpr unsigned kMostReaders = 1022;
constexpr off_t kLockBytes = 65536;  // of the table of so many readers
constexpr std::array<const char*, kTables> kTableNames = {"about", "items", "globals", "paths"};

MDB_val value_of(Bytes bytes) { return {bytes.size(), const_cast<std::byte*>(bytes.data())}; }

Bytes bytes_of(const MDB_val& value) {
  return {static_cast<const std::byte*>(value.mv_data), value.mv_size};
}

std::string reason_of(int code, const Environment& environment) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO:  // LMDB's word for a write that came to its end too early
      return environment.data_file() + ": cannot be written: " + std::strerror(code) +
             ": make room on the disk and repeat the call; everything before it is kept";
    case EACCES:
    case EROFS:
      if (environment.access() == GalleryAccess::write) {
        return environment.folder() + ": cannot be written: " + std::strerror(code);
      }
      return environment.folder() + ": cannot be opened: " + std::strerror(code) +
             ": readers note in lock.mdb what they read; allow it with chmod a+rw";
    case MDB_MAP_FULL:
    case MDB_MAP_RESIZED:
      return environment.folder() +
             ": is larger than the addresses of this process: raise ulimit -v";
    case MDB_READERS_FULL:
      return environment.folder() + ": has " + std::to_string(kMostReaders) +
             " readers already: wait until some of them have ended";
    case MDB_INVALID:
    case MDB_VERSION_MISMATCH:
      return environment.data_file() + ": is no gallery of this diml: build a new one";
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_PANIC:
    case MDB_BAD_TXN:
      return environment.data_file() +
             ": is damaged: take a copy from a backup, or build the gallery anew";
    default:
      return environment.folder() + ": " + mdb_strerror(code);
  }
}

ErrorKind kind_of(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO:
    case ENOMEM:
    case MDB_MAP_FULL:
    case MDB_MAP_RESIZED:
    case MDB_READERS_FULL:
      return ErrorKind::out_of_resources;
    case MDB_INVALID:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_PANIC:
    case MDB_BAD_TXN:
      return ErrorKind::damaged;
    default:
      return ErrorKind::bad_input;
  }
}

// LMDB maps its table of readers and writes there: on a full disk that would end the process. So
// the disk's room is taken first. What else goes wrong is told by opening the file.
int take_room_for_lock(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return errno == ENOSPC || errno == EDQUOT ? errno : 0;
  const int code = ::posix_fallocate(file, 0, kLockBytes);
  ::close(file);
  return code == ENOSPC || code == EDQUOT || code == EFBIG ? code : 0;
}

// Galleries that are open in this process, by where they lie.
struct Registry {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<Environment>> open;
};

Registry& registry() {
  static Registry all;
  return all;
}

}  // namespace

std::shared_ptr<Environment> Environment::open(const std::string& folder, GalleryAccess access,
                                               Wanted wanted) {
  std::error_code unknown;
  const std::string place = fs::weakly_canonical(folder, unknown).string();
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::weak_ptr<Environment>& known = all.open[place];
  if (std::shared_ptr<Environment> there = known.lock()) {
    if (access == GalleryAccess::write && there->access() == GalleryAccess::read) {
      throw Error(folder + ": is open in this process for reading only: open it for writing first");
    }
    return there;
  }
  // The constructor is private, so that nobody opens a file twice.
  std::shared_ptr<Environment> fresh(new Environment(folder, access, wanted));
  known = fresh;
  return fresh;
}

Environment::Environment(std::string folder, GalleryAccess access, Wanted wanted)
    : folder_(std::move(folder)), access_(access) {
  try {
    open_file();
    expect_whole_file();
    int dead = 0;
    mdb_reader_check(env_, &dead);  // places of readers that were killed
    open_tables(wanted);
  } catch (...) {
    if (env_ != nullptr) mdb_env_close(env_);
    throw;
  }
}

Environment::~Environment() { mdb_env_close(env_); }

void Environment::open_file() {
  check(take_room_for_lock(folder_ + "/lock.mdb"));
  // Readers are objects that may go from thread to thread.
  const unsigned flags = MDB_NOTLS | (access_ == GalleryAccess::read ? MDB_RDONLY : 0U);
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

// A file that was cut off would end the process where its missing part is read.
void Environment::expect_whole_file() const {
  MDB_envinfo info;
  MDB_stat stat;
  check(mdb_env_info(env_, &info));
  check(mdb_env_stat(env_, &stat));
  std::error_code failed;
  const std::uintmax_t bytes = fs::file_size(data_file(), failed);
  if (!failed && info.me_last_pgno > 1 && bytes < (info.me_last_pgno + 1) * stat.ms_psize) {
    throw Error(data_file() +
                ": has been cut off: take a copy from a backup, or build the gallery anew");
  }
}

void Environment::open_tables(Wanted wanted) {
  MDB_txn* txn = nullptr;
  check(mdb_txn_begin(env_, nullptr, access_ == GalleryAccess::read ? MDB_RDONLY : 0U, &txn));
  for (std::size_t t = 0; t < kTables; ++t) {
    const int code =
        mdb_dbi_open(txn, kTableNames[t], wanted == Wanted::fresh ? MDB_CREATE : 0U, &tables_[t]);
    if (code == 0) continue;
    mdb_txn_abort(txn);
    if (code == MDB_NOTFOUND) {
      throw Error(folder_ +
                  ": the making of this gallery was cut off: delete the folder and build "
                  "it again");
    }
    check(code);
  }
  check(mdb_txn_commit(txn));
}

void Environment::check(int code) const {
  if (code != 0) throw Error(kind_of(code), reason_of(code, *this));
}

Transaction::Transaction(std::shared_ptr<Environment> environment, GalleryAccess access)
    : environment_(std::move(environment)) {
  if (access == GalleryAccess::write && environment_->access() == GalleryAccess::read) {
    throw Error(environment_->folder() + ": is open for reading only");
  }
  environment_->check(mdb_txn_begin(environment_->get(), nullptr,
                                    access == GalleryAccess::read ? MDB_RDONLY : 0U, &txn_));
}

Transaction::~Transaction() {
  if (txn_ != nullptr) mdb_txn_abort(txn_);
}

std::optional<Bytes> Transaction::find(Table table, Bytes key) const {
  MDB_val wanted = value_of(key);
  MDB_val found;
  const int code = mdb_get(txn_, environment_->table(table), &wanted, &found);
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
  txn_ = nullptr;  // gone, whether it goes well or not
  environment_->check(mdb_txn_commit(ending));
}

Cursor::Cursor(const Transaction& transaction, Table table) : transaction_(transaction) {
  const Environment& environment = transaction_.environment();
  environment.check(mdb_cursor_open(transaction_.get(), environment.table(table), &cursor_));
}

Cursor::~Cursor() { mdb_cursor_close(cursor_); }

bool Cursor::next() {
  MDB_val key;
  MDB_val value;
  const int code = mdb_cursor_get(cursor_, &key, &value, started_ ? MDB_NEXT : MDB_FIRST);
  started_ = true;
  if (code == MDB_NOTFOUND) return false;
  transaction_.environment().check(code);
  key_ = bytes_of(key);
  value_ = bytes_of(value);
  return true;
}

}  // namespace diml::gallery
