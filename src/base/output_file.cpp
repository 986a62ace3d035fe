#include "base/output_file.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/missing_folder.h"
#include "base/system_error.h"

namespace diml {
namespace {

constexpr mode_t kMode = 0666;  // reduced by the umask
// Finds a name that is not left over from a killed process with the same process id.
constexpr int kAttempts = 100;

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

void make_folder(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) throw system_error(path + ": cannot be made", failed);
}

void sync_folder_of(const std::string& path) {
  const int folder = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  const int code = ::fsync(folder) == 0 ? 0 : errno;
  ::close(folder);
  if (code == 0 || code == EINVAL || code == ENOTSUP || code == EROFS) return;
  throw system_error(path + ": was written, but its folder cannot be synced to disk", code);
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  namespace fs = std::filesystem;
  if (path_.empty()) throw Error("an output file needs a name");
  std::error_code unknown;  // open() reports what cannot be inspected
  const fs::file_status status = fs::status(path_, unknown);
  if (fs::is_directory(status)) throw Error(path_ + ": is a folder; name a file in it");
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("cannot be written");
    return;
  }
  place_ = fs::is_symlink(fs::symlink_status(path_, unknown)) && fs::exists(status)
               ? fs::canonical(path_, unknown).string()
               : path_;
  // An unnamed file would fail only when it gets its name, after all the work: check now.
  if (fs::path(beside(0)).filename().string().size() > NAME_MAX) {
    errno = ENAMETOOLONG;
    fail("cannot be written");
  }
  descriptor_ = ::open(folder_of(place_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kMode);
  if (descriptor_ >= 0) return;
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) fail("cannot be written");
  for (int attempt = 0; attempt < kAttempts && descriptor_ < 0; ++attempt) {
    temporary_ = beside(attempt);
    descriptor_ = ::open(temporary_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, kMode);
    if (descriptor_ < 0 && errno != EEXIST) break;
  }
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
  if (place_.empty()) return;
  if (::fsync(descriptor_) != 0) fail("cannot be synced to disk");
  const std::string unnamed = "/proc/self/fd/" + std::to_string(descriptor_);
  for (int attempt = 0; temporary_.empty(); ++attempt) {
    std::string name = beside(attempt);
    if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = std::move(name);
    } else if (errno != EEXIST || attempt == kAttempts) {
      fail("cannot be written");
    }
  }
  if (::rename(temporary_.c_str(), place_.c_str()) != 0) fail("cannot be renamed into place");
  temporary_.clear();
  sync_folder_of(place_);
}

std::string OutputFile::beside(int attempt) const {
  return place_ + ".tmp" + std::to_string(::getpid()) + "." + std::to_string(attempt);
}

void OutputFile::fail(const char* doing) const { throw not_made(path_, doing, errno); }

}  // namespace diml
