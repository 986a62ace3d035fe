#include "lmdb_error.h"

#include <cerrno>

#include <lmdb.h>

#include "base/system_error.h"

namespace diml::gallery {

std::string remedy_of_damage(const std::string& folder) {
  return ": restore a backup ('diml index restore BACKUP " + folder +
         "'), or take out what is whole ('diml index salvage " + folder + " NEW')";
}

Error replaced_error(const std::string& folder) {
  return {ErrorKind::conflict, folder + ": was moved or replaced while it was open: open it again",
          "reopen"};
}

Error lmdb_error(int code, const std::string& folder, StoreAccess access) {
  using enum ErrorKind;
  const std::string file = folder + "/data.mdb";
  switch (code) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO:  // LMDB's code for an incomplete write
      return with_context(
          system_error(file + ": cannot be written", code), "",
          ": free some disk space and repeat the call; everything before it is kept");
    case EACCES:
    case EROFS:
      if (access == StoreAccess::write) {
        const Error error = system_error(folder + ": cannot be written", code);
        return {error.kind(), error.what(), "read_only"};
      }
      return with_context(system_error(folder + ": cannot be opened", code), "",
                          ": readers need the permission to read data.mdb");
    case MDB_MAP_FULL:
    case MDB_MAP_RESIZED:
      return {out_of_resources,
              folder + ": is larger than the address space of this process: raise ulimit -v"};
    case MDB_READERS_FULL:
      return {out_of_resources, folder + ": has " + std::to_string(kMostReaders) +
                                    " readers already: wait until some of them have ended"};
    case MDB_INVALID:
      return {damaged,
              file + ": is not a gallery of this version of diml, or its first pages are damaged" +
                  remedy_of_damage(folder)};
    case MDB_VERSION_MISMATCH:
      return {unsupported, file + ": is not a gallery of this version of diml: build a new one"};
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_PANIC:
    case MDB_BAD_TXN:
      return {damaged, file + ": is damaged" + remedy_of_damage(folder)};
    default:  // LMDB's own codes are negative
      return {code > 0 ? kind_of_errno(code) : internal, folder + ": " + mdb_strerror(code)};
  }
}

}  // namespace diml::gallery
