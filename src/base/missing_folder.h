#pragma once

#include <cerrno>
#include <filesystem>
#include <string>

#include "base/system_error.h"

namespace diml {

// Why a file or folder cannot be made. "No such file or directory" about a new name means its
// folder.
inline Error not_made(const std::string& path, const std::string& doing, int code) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code unknown;
  if (code == ENOENT && !folder.empty() && !std::filesystem::exists(folder, unknown)) {
    return {ErrorKind::not_found,
            path + ": " + doing + ": there is no folder " + folder.string() + ": make it first"};
  }
  return system_error(path + ": " + doing, code);
}

}  // namespace diml
