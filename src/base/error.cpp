#include "diml/error.h"

#include <array>
#include <cstddef>

namespace diml {

const char* name_of(ErrorKind kind) {
  constexpr std::array kNames = {"bad_input", "not_found",        "conflict", "unsupported",
                                 "damaged",   "out_of_resources", "internal"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace diml
