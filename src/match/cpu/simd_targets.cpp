#include <algorithm>

#include <hwy/highway.h>

#include "cpu/pair_kernel.h"
#include "diml/error.h"

namespace diml::cpu {
namespace {

// Targets that are compiled in and that this machine has; asked once, before any is forced.
std::int64_t usable_targets() {
  static const std::int64_t usable = hwy::SupportedTargets() & HWY_TARGETS;
  return usable;
}

std::vector<std::int64_t> bits_of(std::int64_t targets) {
  std::vector<std::int64_t> bits;  // a lower bit is a better target
  for (; targets != 0; targets &= targets - 1) bits.push_back(targets & -targets);
  return bits;
}

}  // namespace

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (const std::int64_t bit : bits_of(usable_targets())) names.push_back(hwy::TargetName(bit));
  return names;
}

void force_simd_target(std::string_view name) {
  const std::vector<std::int64_t> bits = bits_of(usable_targets());
  std::int64_t forced = 0;  // none
  if (!name.empty()) {
    const auto found = std::find_if(bits.begin(), bits.end(), [name](std::int64_t bit) {
      return hwy::TargetName(bit) == name;
    });
    if (found == bits.end()) {
      std::string known;
      for (const std::string& one : simd_targets()) known += (known.empty() ? "" : ", ") + one;
      throw Error(ErrorKind::unsupported,
                  "this machine has no SIMD target '" + std::string(name) + "': " + known);
    }
    forced = *found;
  }
  hwy::SetSupportedTargetsForTest(forced);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace diml::cpu
