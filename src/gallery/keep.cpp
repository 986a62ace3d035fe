#include "keep.h"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_file.h"
#include "base/system_error.h"
#include "diml/approximate_index.h"
#include "diml/error.h"
#include "gallery_writer.h"
#include "lmdb_error.h"
#include "reading.h"

namespace diml {
namespace gallery {
namespace {

namespace fs = std::filesystem;

std::string parent_of(const std::string& place) {
  const fs::path whole = fs::absolute(fs::path(place) / ".").lexically_normal();
  return whole.parent_path().parent_path().string();
}

std::string without_slash(std::string place) {
  while (place.size() > 1 && place.back() == '/') place.pop_back();
  return place;
}

bool is_there(const std::string& path) {
  std::error_code unknown;
  return fs::exists(fs::symlink_status(path, unknown));
}

void sync_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool failed = file < 0 || ::fsync(file) != 0;
  const int code = errno;
  if (file >= 0) ::close(file);
  if (failed) throw system_error(path + ": cannot be written", code);
}

// As another one is: its permissions, and its owner where this user may give files away.
void make_alike(const std::string& path, const std::string& other) {
  struct stat wanted {};
  if (::stat(other.c_str(), &wanted) != 0) return;
  [[maybe_unused]] const int given = ::chown(path.c_str(), wanted.st_uid, wanted.st_gid);
  ::chmod(path.c_str(), wanted.st_mode & 07777);
}

// The approximate index has a checksum of its own, and can be built again.
void copy_index(const std::string& from, const std::string& to) {
  if (!fs::exists(index_file(from))) return;
  fs::copy_file(index_file(from), index_file(to));
  make_alike(index_file(to), index_file(from));
  sync_file(index_file(to));
}

void copy_pages(const Environment& environment, const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) throw system_error(path + ": cannot be written", errno);
  int code = mdb_env_copyfd2(environment.get(), file, 0);
  if (code == 0 && ::fsync(file) != 0) code = errno;
  ::close(file);
  if (code > 0) throw system_error(path + ": cannot be written", code);
  environment.check(code);
}

// A consistent copy, whatever others do meanwhile.
void copy_gallery(const std::string& from, const std::string& to) {
  const auto environment =
      Environment::open(from, StoreAccess::read, Environment::Wanted::existing);
  if (!environment->locks()) {
    throw Error(
        ErrorKind::unsupported,
        from +
            ": lock.mdb cannot be written, so a copy could mix two states: copy it as a user "
            "who may write to lock.mdb");
  }
  const Transaction looked_at(environment, StoreAccess::read);
  copy_pages(*environment, to + "/data.mdb");
  make_alike(to + "/data.mdb", from + "/data.mdb");
  make_alike(to, from);
  copy_index(from, to);
}

void expect_gallery(const std::string& folder) {
  if (is_there(folder + "/data.mdb")) return;
  throw Error(ErrorKind::not_found, folder + ": there is no gallery");
}

Description description_of(const Transaction& transaction) {
  const auto record = transaction.find(Table::about, bytes_of(kDescription));
  return decode_description(record.value_or(Bytes()), transaction.environment().folder());
}

[[noreturn]] void refuse_unequal(const std::string& folder, std::int64_t id) {
  throw damaged_error(folder + ": item " + std::to_string(id) + " is damaged");
}

void write_items(const Transaction& from, std::size_t dim, GalleryWriter& to,
                 const Progress& progress) {
  const std::string& folder = from.environment().folder();
  const std::size_t count = from.count(Table::items);
  std::size_t done = 0;
  Cursor items(from, Table::items);
  Cursor globals(from, Table::globals);
  while (items.next()) {
    const std::int64_t id = id_of(items.key());
    ItemRecord item;
    GlobalRecord global;
    if (!globals.next() || id_of(globals.key()) != id ||
        !is_intact(Table::items, items.key(), items.value()) ||
        !is_intact(Table::globals, globals.key(), globals.value()) ||
        !decode(items.value(), item) || !decode(globals.value(), dim, global) ||
        find_path(from, std::string(item.path)) != id) {
      refuse_unequal(folder, id);
    }
    to.add(id, item, global);
    progress(++done, count);
    progress.stop_if_cancelled();
  }
  if (globals.next()) refuse_unequal(folder, id_of(globals.key()));
}

void write_changes(const Transaction& from, GalleryWriter& to) {
  Cursor changes(from, Table::changes);
  while (changes.next()) {
    const auto numbers = decode_numbers(changes.key(), changes.value());
    if (!numbers) {
      throw damaged_error(from.environment().folder() + ": its changes are damaged");
    }
    to.add_change(static_cast<std::uint64_t>(id_of(changes.key())), *numbers);
  }
}

}  // namespace

Workshop::Workshop(const std::string& place) : Workshop(place, false) {}

Workshop Workshop::for_replacing(const std::string& place) { return {place, true}; }

Workshop::Workshop(const std::string& place, bool replaces) : place_(without_slash(place)) {
  if (is_there(place_) && !is_empty_folder(place_) &&
      !(replaces && is_there(place_ + "/data.mdb"))) {
    throw Error(ErrorKind::conflict,
                place_ + ": exists: name a folder that is empty or does not exist");
  }
  folder_ = std::make_unique<TemporaryFolder>(parent_of(place_));
  gallery_ = *folder_ / "gallery";
  fs::create_directory(gallery_);
}

GalleryCopy Workshop::verified(const std::string& says_of, const Progress& progress) const {
  GalleryCopy copy;
  {
    const std::shared_ptr<GridStore> store = open_gallery(gallery_);
    const std::unique_ptr<GridSnapshot> snapshot = store->snapshot();
    const StoreFaults found = snapshot->verify(progress);
    if (!found.faults.empty()) {
      throw Error(ErrorKind::damaged,
                  says_of + ": is damaged (" + found.faults[0] +
                      "), so no copy was made: verify it, which lists what is wrong",
                  "verify");
    }
    copy = {snapshot->size(), snapshot->revision(), store->space().used};
  }
  std::error_code absent;
  fs::remove(gallery_ + "/lock.mdb", absent);
  sync_file(gallery_ + "/data.mdb");
  sync_folder_of(gallery_ + "/data.mdb");
  return copy;
}

void Workshop::put_in_place() const {
  if (::rename(gallery_.c_str(), place_.c_str()) != 0) {
    throw system_error(place_ + ": cannot be made", errno);
  }
  sync_folder_of(place_);
}

// The old gallery cannot go where it should: it stays where it is, and is not removed.
void Workshop::leave(const std::string& old, int code) const {
  folder_->keep();
  throw with_context(system_error(place_ + ": cannot be replaced", code), "",
                     ": the gallery that was there is now " + old);
}

void Workshop::exchange() const {
  if (::renameat2(AT_FDCWD, gallery_.c_str(), AT_FDCWD, place_.c_str(), RENAME_EXCHANGE) == 0) {
    return;
  }
  const auto refuse = [&](int code) { throw system_error(place_ + ": cannot be replaced", code); };
  if (errno != EINVAL && errno != ENOSYS) refuse(errno);
  // A file system that cannot exchange two folders.
  const std::string aside = gallery_ + ".aside";
  if (::rename(place_.c_str(), aside.c_str()) != 0) refuse(errno);
  if (::rename(gallery_.c_str(), place_.c_str()) != 0) {
    const int code = errno;
    if (::rename(aside.c_str(), place_.c_str()) != 0) leave(aside, code);
    refuse(code);
  }
  if (::rename(aside.c_str(), gallery_.c_str()) != 0) leave(aside, errno);
}

void Workshop::replace() const {
  exchange();
  sync_folder_of(place_);
}

void Workshop::replace(const std::string& kept) const {
  exchange();
  if (::rename(gallery_.c_str(), kept.c_str()) != 0) {
    const int code = errno;
    try {
      exchange();
    } catch (...) {
      leave(gallery_, code);
    }
    throw system_error(kept + ": cannot be made, so " + place_ + " stays as it is", code);
  }
  sync_folder_of(place_);
}

void expect_folders(std::initializer_list<std::string> names) {
  for (const std::string& name : names) {
    if (!is_in_database(name)) continue;
    throw Error(ErrorKind::unsupported,
                shown_gallery(name) +
                    ": lies in a database: pg_dump and pg_restore keep it, autovacuum compacts it; "
                    "this call needs a gallery in a folder: copy it into one",
                "copy_gallery");
  }
}

}  // namespace gallery

using namespace gallery;

GalleryCopy back_up_gallery(const std::string& folder, const std::string& to,
                            const Progress& progress) {
  expect_folders({folder, to});
  expect_gallery(folder);
  const Workshop workshop(to);
  copy_gallery(folder, workshop.gallery());
  GalleryCopy copy = workshop.verified(folder, progress);
  workshop.put_in_place();
  return copy;
}

GalleryCopy restore_gallery(const std::string& backup, const std::string& folder,
                            const Progress& progress) {
  expect_folders({backup, folder});
  expect_gallery(backup);
  const Workshop workshop = Workshop::for_replacing(folder);
  copy_gallery(backup, workshop.gallery());
  GalleryCopy copy = workshop.verified(backup, progress);
  if (!is_there(folder + "/data.mdb")) {
    workshop.put_in_place();
    return copy;
  }
  const std::string name = without_slash(folder) + ".replaced";
  copy.replaced = name;
  for (int k = 2; is_there(copy.replaced); ++k) copy.replaced = name + "-" + std::to_string(k);
  workshop.replace(copy.replaced);
  return copy;
}

GalleryCopy compact_gallery(const std::string& folder, const Progress& progress) {
  expect_folders({folder});
  expect_gallery(folder);
  const auto environment =
      Environment::open(folder, StoreAccess::write, Environment::Wanted::existing);
  // Writers wait until the new folder is in place, and then notice that it is another one.
  const Transaction transaction(environment, StoreAccess::write);
  const Workshop workshop = Workshop::for_replacing(folder);
  const Description description = description_of(transaction);
  {
    GalleryWriter writer(workshop.gallery(), description);
    write_items(transaction, description.format.dim, writer, progress);
    if (description.version >= kSealedNumbers) write_changes(transaction, writer);
    writer.finish(number_of(transaction, kRevision), number_of(transaction, kNextId));
  }
  make_alike(workshop.gallery() + "/data.mdb", folder + "/data.mdb");
  make_alike(workshop.gallery(), folder);
  copy_index(folder, workshop.gallery());
  GalleryCopy copy = workshop.verified(folder, {});
  workshop.replace();
  return copy;
}

}  // namespace diml
