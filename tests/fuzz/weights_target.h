#pragma once

#include <stdexcept>

#include "diml/weights.h"
#include "fuzz/fuzz_target.h"

namespace diml::test {

// What a reader lets through must not contradict itself.
inline void expect_sound(const Weights& weights) {
  for (const auto& [name, tensor] : weights.tensors) {
    if (tensor.bytes.size() != tensor.count() * size_of(tensor.type)) {
      throw std::logic_error(name + " has not the size of its shape");
    }
  }
}

}  // namespace diml::test
