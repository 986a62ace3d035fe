#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"
#include "diml/image.h"
#include "models/model.h"
#include "training/train_config.h"

namespace diml::training {

// A random part of the image of random area and ratio, resized to size x size: the rule of
// torchvision's RandomResizedCrop.
Image random_resized_crop(const Image& image, std::size_t size, const AugmentParams& settings,
                          Random& random);

// One training image: crop, perhaps a mirror image, channels in the network's order. planes: [3,
// size, size], grey levels.
void augment(const Image& image, std::size_t size, ChannelOrder channels,
             const AugmentParams& settings, Random random, std::span<std::uint8_t> planes);

}  // namespace diml::training
