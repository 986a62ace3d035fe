#pragma once

#include <string>

#include "base/refusal.h"

namespace diml::test {

inline std::string golden(const std::string& name) {
  return std::string(DIML_WEIGHTS_FOLDER "/") + name;
}

}  // namespace diml::test
