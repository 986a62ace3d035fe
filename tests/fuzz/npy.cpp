#include "fuzz/fuzz_target.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "diml/npy.h"

namespace {

// The reader takes a path: a file in memory has one.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::uint8_t> bytes)
      : descriptor_(::memfd_create("npy", MFD_CLOEXEC)) {
    if (::write(descriptor_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      throw std::runtime_error("no file in memory");
    }
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

void read(std::span<const std::uint8_t> bytes) {
  const MemoryFile memory(bytes);
  const diml::NpyFile file(memory.path());
  // Behind the checks on opening an array is never larger than its file.
  if (file.type() == diml::ArrayType::int64) {
    std::vector<std::int64_t> values(file.count());
    file.read_int64s(0, values);
  } else {
    std::vector<float> values(file.count());
    file.read_floats(0, values);
  }
}

}  // namespace

DIML_FUZZ_TARGET(read)
