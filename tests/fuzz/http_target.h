#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "diml/server.h"
#include "fuzz/fuzz_target.h"
#include "server/refusal.h"

namespace diml::test {

// As small as a target of a fuzzer can reach.
inline const ServerLimits& fuzz_limits() {
  static const ServerLimits limits = [] {
    ServerLimits small;
    small.head = 4096;
    small.body = 4096;
    return small;
  }();
  return limits;
}

inline std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A claim about what was read; a crash where it does not hold.
inline void expect(bool holds) {
  if (!holds) __builtin_trap();
}

// The call's status if it is refused, 200 if not.
template <class Call>
int status_of_call(Call call) {
  try {
    call();
  } catch (const server::Refusal& refusal) {
    expect(refusal.status() >= 400 && refusal.status() < 600 && !refusal.line().empty());
    return refusal.status();
  }
  return 200;
}

}  // namespace diml::test
