#include "amx.h"

#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace diml {

bool amx_is_broken() {
#if defined(__x86_64__)
  constexpr unsigned kFeatures = 7;
  constexpr unsigned kAmxTile = 1U << 24;  // in edx
  constexpr unsigned kTiles = 0x1d;        // eax: the number of palettes
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(kFeatures, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx & kAmxTile) == 0) {
    return false;
  }
  return __get_cpuid_count(kTiles, 0, &eax, &ebx, &ecx, &edx) == 0 || eax == 0;
#else
  return false;
#endif
}

void avoid_broken_amx() {
  static const bool broken = amx_is_broken();
  // The widest instructions that oneDNN knows below AMX.
  if (broken) ::setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16", /*overwrite=*/0);
}

namespace {

// oneDNN reads the variable once, when it is first used, and LibTorch may be the first to use it.
// So the variable is set when the program or the plugin is loaded.
[[maybe_unused]] const bool kSetOnLoading = (avoid_broken_amx(), true);

}  // namespace

}  // namespace diml
