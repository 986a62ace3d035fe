#include "lmdb_error.h"

#include <cerrno>
#include <cstdint>
#include <filesystem>

#include <lmdb.h>
#include <sys/resource.h>

#include "base/system_error.h"

namespace diml::gallery {
namespace {

namespace fs = std::filesystem;

// "room": the parameter of errors that only more room for the gallery mends.
Error full_disk(const std::string& file, int code) {
  const Error error = system_error(file + ": cannot be written", code);
  return {
      error.kind(),
      error.what() +
          std::string(": free some disk space and repeat the call; everything before it is kept"),
      "room"};
}

// Neither on the disk nor for a file of this process (ulimit -f).
bool has_no_room(const std::string& folder, const std::string& file) {
  constexpr std::uintmax_t kLittle = std::uintmax_t{1} << 20;
  std::error_code unknown;
  const fs::space_info space = fs::space(folder, unknown);
  if (!unknown && space.available < kLittle) return true;
  rlimit most{};
  if (::getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY) return false;
  const std::uintmax_t bytes = fs::file_size(file, unknown);
  return !unknown && bytes + kLittle > most.rlim_cur;
}

}  // namespace

Error damaged_error(const std::string& what) {
  return {ErrorKind::damaged, what + ": restore a backup, or salvage what is whole", "salvage"};
}

Error replaced_error(const std::string& folder) {
  return {ErrorKind::conflict, folder + ": was moved or replaced while it was open: open it again",
          "reopen"};
}

Error failed_error(const std::string& folder) {
  return {ErrorKind::out_of_resources,
          folder +
              ": a write failed on its disk, see the system's log: open it again; everything "
              "that was written before is kept",
          "reopen"};
}

Error lmdb_error(int code, const std::string& folder, StoreAccess access, bool is_open) {
  using enum ErrorKind;
  const std::string file = folder + "/data.mdb";
  switch (code) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return full_disk(file, code);
    case EIO:
      // Also LMDB's code for an incomplete write.
      if (has_no_room(folder, file)) return full_disk(file, ENOSPC);
      return with_context(system_error(file + ": cannot be written", code), "",
                          ": the disk fails, see the system's log; everything before is kept");
    case EACCES:
    case EPERM:
    case EROFS:
      if (access == StoreAccess::write) {
        const Error error = system_error(folder + ": cannot be written", code);
        // Not a matter of who asks once it was open for writing.
        return {is_open ? out_of_resources : error.kind(), error.what(), "read_only"};
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
      return damaged_error(
          file + ": is not a gallery of this version of diml, or its first pages are damaged");
    case MDB_VERSION_MISMATCH:
      return {unsupported, file + ": is not a gallery of this version of diml: build a new one"};
    case MDB_PANIC:
      return failed_error(folder);
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_BAD_TXN:
      return damaged_error(file + ": is damaged");
    default:  // LMDB's own codes are negative
      return {code > 0 ? kind_of_errno(code) : internal, folder + ": " + mdb_strerror(code)};
  }
}

}  // namespace diml::gallery
