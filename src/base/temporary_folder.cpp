#include "diml/temporary_folder.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <stdlib.h>

#include "diml/error.h"

namespace diml {

TemporaryFolder::TemporaryFolder()
    : TemporaryFolder(std::filesystem::temp_directory_path().string()) {}

TemporaryFolder::TemporaryFolder(const std::string& parent) {
  std::error_code failed;
  std::filesystem::create_directories(parent, failed);
  // Programs run in it: what they are told of its files must not depend on where this one runs.
  std::string name = std::filesystem::absolute(parent).string() + "/diml.XXXXXX";
  if (failed || ::mkdtemp(name.data()) == nullptr) {
    throw Error(parent + ": no folder can be made in it: " +
                (failed ? failed.message() : std::strerror(errno)));
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace diml
