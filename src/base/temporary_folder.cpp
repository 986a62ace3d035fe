#include "base/temporary_folder.h"

#include <cerrno>
#include <filesystem>
#include <memory>
#include <new>
#include <string_view>

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
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

// Not with std::filesystem, which ends the process where there is no memory for a name: without
// memory the folder stays.
TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  constexpr int kOpenFolders = 8;
  ::nftw(
      path_.c_str(),
      [](const char* name, const struct stat*, int, FTW*) {
        (void)::remove(name);
        return 0;
      },
      kOpenFolders, FTW_DEPTH | FTW_PHYS);
}

bool is_empty_folder(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (!folder) {
    if (errno == ENOMEM) throw std::bad_alloc();
    return false;
  }
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return false;
  }
  return true;
}

}  // namespace diml
