#include "base/temporary_folder.h"

#include <cerrno>
#include <exception>
#include <filesystem>

#include <stdlib.h>

#include "base/system_error.h"

namespace diml {

TemporaryFolder::TemporaryFolder()
    : TemporaryFolder(std::filesystem::temp_directory_path().string()) {}

TemporaryFolder::TemporaryFolder(const std::string& parent) {
  std::error_code failed;
  std::filesystem::create_directories(parent, failed);
  // Programs run in it: paths of its files must not depend on the current folder.
  std::string name = std::filesystem::absolute(parent).string() + "/diml.XXXXXX";
  if (failed || ::mkdtemp(name.data()) == nullptr) {
    throw system_error(parent + ": no folder can be made in it",
                       failed ? failed : std::error_code(errno, std::generic_category()));
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  try {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  } catch (const std::exception&) {  // without memory it stays
  }
}

bool is_empty_folder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  return fs::is_directory(path, failed) &&
         fs::directory_iterator(path, failed) == fs::directory_iterator() && !failed;
}

}  // namespace diml
