#include "fuzz/weights_target.h"

namespace {

void read(std::span<const std::uint8_t> bytes) { diml::test::expect_sound(diml::parse_pth(bytes)); }

}  // namespace

DIML_FUZZ_TARGET(read)
