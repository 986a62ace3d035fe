#include "fuzz/weights_target.h"

namespace {

// Two bytes of length, model.json of that length or to the end, and the shards.
void read(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 2) return;
  const std::size_t length = bytes[0] | static_cast<std::size_t>(bytes[1]) << 8;
  bytes = bytes.subspan(2);
  const std::size_t json = length < bytes.size() ? length : bytes.size();
  diml::test::expect_sound(diml::parse_tfjs(bytes.first(json), bytes.subspan(json)));
}

}  // namespace

DIML_FUZZ_TARGET(read)
