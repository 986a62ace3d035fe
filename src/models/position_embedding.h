#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "models/architecture.h"

namespace diml {

// [to, from]: resamples an axis of `from` places to `to` by the bicubic filter of Pillow and timm
// (a = -0.5, wider where places become fewer). Rows sum to 1.
std::vector<float> bicubic_matrix(std::size_t from, std::size_t to);

// What is added to the places of an image of height x width places, behind what stands in place of
// its prefix: [prefix + height * width, width of the tokens]. Position embeddings for another size
// are interpolated. Empty spans for what the network does not have.
std::vector<float> token_rows(const Tokens& tokens, std::span<const float> class_token,
                              std::span<const float> registers, std::span<const float> positions,
                              std::size_t height, std::size_t width);

}  // namespace diml
