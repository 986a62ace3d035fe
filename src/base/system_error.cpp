#include "base/system_error.h"

#include <cerrno>

namespace diml {

ErrorKind kind_of_errno(int code) {
  switch (code) {
    case ENOENT:
    case ENOTDIR:
      return ErrorKind::not_found;
    case EEXIST:
    case EBUSY:
    case ETXTBSY:
    case EADDRINUSE:
      return ErrorKind::conflict;
    case ENOSYS:
    case ENOTSUP:
      return ErrorKind::unsupported;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO:
    case EROFS:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EAGAIN:
    case ENOBUFS:
    case EADDRNOTAVAIL:
    case ETIMEDOUT:
      return ErrorKind::out_of_resources;
    case EBADF:
    case EFAULT:
      return ErrorKind::internal;
    default:  // rights, names, links: the caller can change them
      return ErrorKind::bad_input;
  }
}

Error system_error(const std::string& what, int code) {
  return system_error(what, std::error_code(code, std::generic_category()));
}

Error system_error(const std::string& what, const std::error_code& code) {
  return {kind_of_errno(code.value()), what + ": " + code.message()};
}

}  // namespace diml
