#pragma once

#include <cstddef>
#include <string>

#include "diml/image.h"

namespace diml::cli {

// A picture that costs about as much to decode as a photo. The same for the same number.
Image bench_photo(std::size_t width, std::size_t height, std::size_t number);

// One folder per class, the layout of the data set `folder`. side: the shorter one.
void write_bench_photos(const std::string& folder, std::size_t classes, std::size_t per_class,
                        std::size_t side);

}  // namespace diml::cli
