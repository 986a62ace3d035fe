#pragma once

#include <string>
#include <system_error>

#include "diml/error.h"

namespace diml {

// The kind of a failed system call; code is its errno.
ErrorKind kind_of_errno(int code);

// "WHAT: No space left on device". what: "photo.jpg: cannot be read".
Error system_error(const std::string& what, int code);
Error system_error(const std::string& what, const std::error_code& code);

}  // namespace diml
