#include "environment.h"

#include <array>
#include <cerrno>
#include <condition_variable>
#include <filesystem>
#include <map>

#include <fcntl.h>
#include <unistd.h>

#include "diml/error.h"
#include "lmdb_error.h"

namespace diml::gallery {
namespace {

namespace fs = std::filesystem;

// Address space, not memory or disk: a growing gallery never has to be remapped while it is being
// read. If the system refuses, half of it is tried, and so on.
constexpr std::size_t kMostAddresses = std::size_t{1} << 40;
constexpr std::size_t kFewestAddresses = std::size_t{1} << 30;
constexpr auto kForOthers = std::chrono::seconds(5);
constexpr off_t kLockBytes = 65536;  // enough for the table of readers
constexpr std::array<const char*, kTables> kTableNames = {"about", "items", "globals", "paths",
                                                          "changes"};

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

FileId id_of(const struct stat& file) { return {file.st_dev, file.st_ino}; }

std::optional<FileId> id_of(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return std::nullopt;
  return id_of(file);
}

bool is_unchanged(const struct stat& a, const struct stat& b) {
  return a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

// The open galleries of this process. An entry whose object is gone is still being closed.
struct Registry {
  struct Entry {
    std::weak_ptr<Environment> environment;
    std::optional<FileId> lock;
    std::shared_ptr<const std::atomic<bool>> failed;  // see Environment::failed_
  };
  std::mutex mutex;
  std::condition_variable closed;
  std::map<FileId, Entry> open;  // by data.mdb
};

Registry& registry() {
  static Registry& all = *new Registry;  // outlives every gallery
  return all;
}

}  // namespace

std::shared_ptr<Environment> Environment::open(const std::string& folder, StoreAccess access,
                                               Wanted wanted) {
  Registry& all = registry();
  // These outlive the lock, which the destructor takes.
  std::unique_ptr<Environment> made;
  std::shared_ptr<Environment> found;
  std::unique_lock lock(all.mutex);
  const std::optional<FileId> data = id_of(folder + "/data.mdb");
  const std::optional<FileId> locks = id_of(folder + "/lock.mdb");
  // Closing a file drops the locks that this process has on it, also those of another opening. One
  // that has failed is closed when the calls that use it have ended.
  const bool settled = all.closed.wait_for(lock, kForOthers, [&] {
    const auto known = data ? all.open.find(*data) : all.open.end();
    if (known == all.open.end()) return true;
    if (*known->second.failed) return false;
    found = known->second.environment.lock();
    return found != nullptr;
  });
  if (!settled) throw failed_error(folder);
  if (found) {
    if (access == StoreAccess::write && found->access() == StoreAccess::read) {
      throw Error(ErrorKind::conflict,
                  folder + ": is open in this process for reading only: open it for writing first");
    }
    return found;
  }
  for (const auto& [id, entry] : all.open) {
    if (!locks || entry.lock != locks) continue;
    throw Error(ErrorKind::conflict,
                folder +
                    ": data.mdb was replaced while its lock.mdb is in use: put the whole "
                    "folder in place, with a lock.mdb of its own or none",
                "reopen");
  }
  // The constructor is private, so that a file is never opened twice.
  made.reset(new Environment(folder, access, wanted));
  found = std::move(made);
  all.open[found->id_] = {found, id_of(folder + "/lock.mdb"), found->failed_};
  return found;
}

Environment::Environment(std::string folder, StoreAccess access, Wanted wanted)
    : folder_(std::move(folder)), data_file_(folder_ + "/data.mdb"), access_(access) {
  try {
    if (wanted == Wanted::existing) expect_whole_head();
    open_file();
    struct stat file {};
    int descriptor = -1;
    check(mdb_env_get_fd(env_, &descriptor));
    if (::fstat(descriptor, &file) != 0) check(errno);
    id_ = id_of(file);
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

Environment::~Environment() {
  mdb_env_close(env_);
  Registry& all = registry();
  {
    const std::lock_guard lock(all.mutex);
    all.open.erase(id_);
  }
  all.closed.notify_all();
}

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
    throw damaged_error(data_file() + ": is truncated");
  }
}

void Environment::expect_whole_head() const {
  const std::optional<std::string> fault = fault_of_head(MappedFile(data_file()).bytes());
  if (fault) throw damaged_error(data_file() + ": " + *fault);
}

// With a lock, writers overtake a state only between the start of the reader and the first look at
// the file. Without one, a page may be written while it is looked at.
void Environment::expect_whole_pages() const {
  WalkResult looked{WalkEnd::overtaken};
  for (int k = 0; k < kLooks && looked.end != WalkEnd::whole; ++k) {
    MDB_txn* txn = nullptr;
    check(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn));
    const std::unique_ptr<MDB_txn, decltype(&mdb_txn_abort)> reader(txn, mdb_txn_abort);
    looked = look_at(mdb_txn_id(txn));
    if (looked.end == WalkEnd::damaged && locks_) break;
  }
  expect_whole(looked);
}

void Environment::expect_whole(const WalkResult& last_look) const {
  if (last_look.end == WalkEnd::damaged) {
    throw damaged_error(data_file() + ": " + last_look.fault);
  }
  if (last_look.end == WalkEnd::overtaken) {
    throw Error(ErrorKind::conflict,
                folder_ + ": was changed all the time while it was checked: repeat the call");
  }
}

struct stat Environment::state_in_place() const {
  struct stat file {};
  if (::stat(data_file().c_str(), &file) != 0 || id_of(file) != id_) throw replaced_error(folder_);
  return file;
}

WalkResult Environment::look_at(std::uint64_t state) const {
  constexpr int kShare = 20;  // of the time, one part may go to files that change without a commit
  constexpr std::size_t kStates = 16;
  const std::lock_guard lock(mutex_);
  const struct stat now = state_in_place();
  const bool unchanged = writing_ || is_unchanged(now, seen_);
  const auto start = Clock::now();
  const bool later = start < next_walk_ && now.st_size >= seen_.st_size;
  if (whole_.contains(state) && (unchanged || later)) return {};
  WalkResult walked = walk_pages(MappedFile(data_file()).bytes(), state, WalkDepth::structure);
  if (walked.end != WalkEnd::whole) return walked;
  if (!unchanged) next_walk_ = Clock::now() + kShare * (Clock::now() - start);
  seen_ = now;
  whole_.insert(state);
  if (whole_.size() > kStates) whole_.erase(whole_.begin());
  return walked;
}

void Environment::begin_writing() const {
  const std::lock_guard lock(mutex_);
  // What others did before is looked at now: later on it could not be told from our own writing.
  if (is_unchanged(state_in_place(), seen_)) writing_ = true;
}

// What was written is written: this does not fail.
void Environment::end_writing(std::uint64_t state) const noexcept {
  const std::lock_guard lock(mutex_);
  if (!writing_) return;
  writing_ = false;
  struct stat now {};
  if (::stat(data_file().c_str(), &now) == 0) seen_ = now;
  try {
    if (state != 0) whole_.insert(state);
  } catch (const std::bad_alloc&) {  // its pages will be looked at once more
  }
}

std::string Environment::fault_of_pages(std::uint64_t state, WalkDepth depth) const {
  const WalkResult walked = walk_pages(MappedFile(data_file()).bytes(), state, depth);
  if (walked.end != WalkEnd::damaged) return "";
  return "data.mdb: " + walked.fault;
}

// LMDB maps whole pages of the system; larger ones of a file may begin between them.
void Environment::learn_map(const std::byte* small_record) const {
  if (page_size_ > static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) return;
  const std::byte* page =
      small_record - reinterpret_cast<std::uintptr_t>(small_record) % page_size_;
  map_ = page - number_of_page(page) * page_size_;
}

void Environment::expect_freeable(Bytes record, std::uint64_t state) const {
  const std::byte* map = map_;
  if (map != nullptr) {
    const auto place = reinterpret_cast<std::uintptr_t>(record.data());
    const auto first = reinterpret_cast<std::uintptr_t>(map);
    if (place < first || place >= first + map_bytes_) return;  // written by this transaction
    const std::size_t offset = place - first;
    if (offset % page_size_ != kPageHead) return;  // on a page of the tree
    const std::byte* head = record.data() - kPageHead;
    const std::uint64_t needed = pages_for(record.size(), page_size_);
    if (number_of_page(head) != offset / page_size_ || flags_of_page(head) != kOverflow ||
        count_of_pages(head) < needed) {
      throw damaged_error(data_file() + ": page " + std::to_string(offset / page_size_) +
                          ": is not the first page of the record that refers to it");
    }
    if (count_of_pages(head) == needed) return;
  }
  // More pages than it needs: only all records together tell whether that is right.
  const std::lock_guard lock(mutex_);
  if (whole_heads_ == state) return;
  const std::string fault = fault_of_pages(state, WalkDepth::everything);
  if (!fault.empty()) throw damaged_error(folder_ + ": " + fault);
  whole_heads_ = state;
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
  MDB_envinfo info;
  MDB_stat stat;
  check(mdb_env_info(env_, &info));
  check(mdb_env_stat(env_, &stat));
  map_bytes_ = info.me_mapsize;
  page_size_ = stat.ms_psize;
}

void Environment::check(int code) const {
  if (code == MDB_PANIC) *failed_ = true;
  if (code != 0) throw lmdb_error(code, folder_, access_, is_open_);
}

}  // namespace diml::gallery
