#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "weights/weights.h"

namespace diml::weights {

// Checks that all readers here apply to numbers from a file.

using Bytes = std::span<const std::uint8_t>;

// bytes[at, at + count), or an Error that says the file is truncated.
Bytes part(Bytes bytes, std::uint64_t at, std::uint64_t count);

template <class T>
requires std::is_unsigned_v<T> T little_endian(Bytes bytes, std::uint64_t at) {
  T value = 0;
  std::memcpy(&value, part(bytes, at, sizeof(T)).data(), sizeof(T));
  return value;
}

inline std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A name from a file, made safe for a message: one short line of plain characters.
std::string shown(std::string_view name);

// The bytes that a tensor of this shape takes; throws if they exceed the address space.
std::size_t bytes_needed(std::span<const std::size_t> shape, TensorType type);

// Adds to the weights; throws if the name is already used.
void add(Weights& weights, std::string name, Tensor tensor);

// parse(bytes of the file); error messages start with the file's name.
Weights read_with(Weights (*parse)(Bytes), const std::string& path);

}  // namespace diml::weights
