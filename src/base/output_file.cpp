#include "diml/output_file.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diml/error.h"

namespace diml {
namespace {

constexpr mode_t kMode = 0666;  // the umask has the last word

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) throw Error("an output file needs a name");
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored)) {
    throw Error(path_ + ": is a folder; name a file in it");
  }
  // An unnamed file meets the limit only when it gets its name, behind all the work: look now.
  if (beside().size() - beside().rfind('/') - 1 > NAME_MAX) {
    errno = ENAMETOOLONG;
    fail("cannot be written");
  }
  descriptor_ = ::open(folder_of(path_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kMode);
  if (descriptor_ >= 0) return;
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) fail("cannot be written");
  temporary_ = beside();
  descriptor_ = ::open(temporary_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, kMode);
  if (descriptor_ < 0) {
    temporary_.clear();
    fail("cannot be written");
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor_, next, bytes);
    if (written < 0) {
      if (errno == EINTR) continue;
      fail("cannot be written");
    }
    next += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void OutputFile::commit() {
  if (::fsync(descriptor_) != 0) fail("cannot be synced to disk");
  if (temporary_.empty()) {
    std::string name = beside();
    const std::string unnamed = "/proc/self/fd/" + std::to_string(descriptor_);
    if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      fail("cannot be written");
    }
    temporary_ = std::move(name);
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be renamed into place");
  temporary_.clear();
  // The rename itself is durable once the folder is; a file system that cannot sync folders loses
  // nothing.
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

std::string OutputFile::beside() const { return path_ + ".tmp" + std::to_string(::getpid()); }

void OutputFile::fail(const char* doing) const {
  throw Error(path_ + ": " + doing + ": " + std::strerror(errno));
}

}  // namespace diml
