#include "fuzz/fuzz_target.h"

#include <string>
#include <vector>

#include "base/npy.h"
#include "fuzz/memory_file.h"

namespace {

void read(std::span<const std::uint8_t> bytes) {
  const diml::test::MemoryFile memory(bytes);
  const diml::NpyFile file(memory.path());
  // After the checks at opening, an array is never larger than its file.
  if (diml::is_integer(file.type())) {
    std::vector<std::int64_t> values(file.count());
    file.read_int64s(0, values);
  } else if (file.type() == diml::ArrayType::text) {
    std::vector<std::string> values(file.count());
    file.read_texts(0, values);
  } else {
    std::vector<float> values(file.count());
    file.read_floats(0, values);
  }
}

}  // namespace

DIML_FUZZ_TARGET(read)
