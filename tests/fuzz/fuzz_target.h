#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "diml/error.h"

// libFuzzer's entry point, around `read(bytes)`. diml::Error is expected; any other exception is a
// finding.
#define DIML_FUZZ_TARGET(read)                                                        \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    try {                                                                             \
      read(std::span<const std::uint8_t>(data, size));                                \
    } catch (const diml::Error&) {                                                    \
    }                                                                                 \
    return 0;                                                                         \
  }
