#pragma once

#include <string_view>

namespace diml {

// Forces one of simd_targets() for the whole process; "" goes back to the best. For tests and
// benchmarks.
void force_simd_target(std::string_view name);

}  // namespace diml
