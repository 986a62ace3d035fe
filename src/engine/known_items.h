#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "diml/gallery_images.h"

namespace diml {

// The label and the metadata that are given for an image and differ from those of its item; none
// where nothing is new. Its grid stays.
std::optional<ItemUpdate> words_update(const Item& there, const ImageToAdd& image);

// Copies the label and the metadata of the item into `item` where the image brings none: an image
// that is embedded again keeps them.
void keep_words(const Item& there, const ImageToAdd& image, NewItem& item);

// In several transactions, so that a long list does not fill the memory.
void update_in_parts(GridStore& gallery, std::span<const ItemUpdate> updates);

// Images that are in the gallery already get the words that are given for them. `there`: indices
// into images. Counts into report.updated, and the images that changed on disk since they were
// embedded into report.changed.
void update_known(GridStore& gallery, std::span<const ImageToAdd> images,
                  std::span<const std::size_t> there, AddReport& report);

}  // namespace diml
