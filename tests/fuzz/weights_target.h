#pragma once

#include <stdexcept>

#include "fuzz/fuzz_target.h"
#include "weights/weights.h"

namespace diml::test {

// Weights that a reader accepts must be consistent.
inline void expect_sound(const Weights& weights) {
  for (const auto& [name, tensor] : weights.tensors) {
    if (tensor.bytes.size() != tensor.count() * size_of(tensor.type)) {
      throw std::logic_error(name + " has not the size of its shape");
    }
  }
}

}  // namespace diml::test
