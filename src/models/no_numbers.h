#pragma once

namespace diml {

// The message about a network whose maps are not numbers.
inline constexpr const char* kNoNumbers =
    "the network gives NaN or infinity: its weights are damaged, or the precision is too coarse "
    "for them";

}  // namespace diml
