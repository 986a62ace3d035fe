#pragma once

#include <cstdint>
#include <span>

namespace diml {

// The integers in the direction of a vector, the largest of them 127; all are 0 for the zero
// vector. Returns the inverse of their length: with it they are a unit vector. Integers that came
// from here give themselves: they alone determine a cell.
float to_int8(std::span<const float> vector, std::span<std::int8_t> out);

}  // namespace diml
