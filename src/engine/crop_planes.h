#pragma once

#include <cstdint>
#include <span>

#include "diml/embedding.h"
#include "diml/image.h"

namespace diml {

// Resize, crop, channels in the network's order. planes: [3, crop, crop].
void crop_planes(const Image& image, const Preprocessing& preprocessing,
                 std::span<std::uint8_t> planes);

// The same as the numbers that the network takes.
void preprocess(const Image& image, const Preprocessing& preprocessing, std::span<float> pixels);

}  // namespace diml
