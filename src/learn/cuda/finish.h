#pragma once

#include <cstddef>
#include <cstdint>

namespace diml::learn::kernels {

// Maps with channels last: [rows, channels], a row for each place of each image.
enum class MapType : std::uint8_t { float32, bfloat16 };

struct Rows {
  std::size_t rows = 0;
  std::size_t channels = 0;
  MapType type = MapType::float32;
};

// Whether the kernels support it: whole vectors of channels, as many as a block has or a multiple.
bool can_finish(const Rows& shape);

// map = max(0, map + bias + shortcut), in one pass. shortcut: null for none. stream: a
// cudaStream_t.
void finish(const Rows& shape, void* map, const void* bias, const void* shortcut, void* stream);

// Of a finished map: the gradient before ReLU, and its partial sums by channel, which the caller
// must add, [parts_of(shape), channels].
std::size_t parts_of(const Rows& shape);
void finish_backward(const Rows& shape, const void* gradient, const void* map, void* before,
                     float* parts, void* stream);

}  // namespace diml::learn::kernels
