#include "base/input_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>

#include "base/shown_text.h"
#include "base/system_error.h"

namespace diml {

std::vector<std::uint8_t> read_file(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::exists(path, unknown) && !std::filesystem::is_regular_file(path, unknown)) {
    throw Error(path + ": is not a regular file");
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw system_error(path + ": cannot be opened", errno);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(file.tellg()));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()))) {
    throw system_error(path + ": cannot be read", errno);
  }
  return bytes;
}

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw system_error(path + ": cannot be opened", errno);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> read_names(const std::string& path) {
  std::vector<std::string> names = read_lines(path);
  for (std::string& name : names) name = name_of_line(name);
  return names;
}

void ask_for_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return;
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_WILLNEED);
  ::close(descriptor);
}

}  // namespace diml
