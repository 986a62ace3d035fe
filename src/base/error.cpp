#include "diml/error.h"

#include <array>
#include <cstddef>

namespace diml {

const char* name_of(ErrorKind kind) {
  constexpr std::array kNames = {"bad_input", "not_found",        "conflict", "unsupported",
                                 "damaged",   "out_of_resources", "internal", "cancelled"};
  return kNames[static_cast<std::size_t>(kind)];
}

Error with_context(const Error& error, const std::string& before, const std::string& after) {
  return {error.kind(), before + error.what() + after, error.parameter()};
}

}  // namespace diml
