#include <stdexcept>

#include "datasets/readers.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/memory_file.h"

namespace {

void read(std::span<const std::uint8_t> bytes) {
  const diml::test::MemoryFile memory(bytes);
  for (const diml::Split split : {diml::Split::all, diml::Split::train}) {
    const diml::Dataset dataset = diml::datasets::load_csv(memory.path(), split);
    for (const diml::Sample& sample : dataset.samples) {
      if (sample.label >= static_cast<std::int64_t>(dataset.class_names.size()))
        throw std::logic_error("a label is of no class");
    }
  }
}

}  // namespace

DIML_FUZZ_TARGET(read)
