#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "diml/image.h"
#include "diml/server.h"

namespace diml::server {

// A tag for the file of an item, made without reading it; it changes with the file's content.
// Nothing where the path is not that of a regular file within the limits.
std::optional<std::string> version_of_file(const std::string& path, const ServerLimits& limits);

// The picture in the file at `path`, at most limits.photo_side pixels wide and high. Nothing where
// the file cannot be read as an image, and where it is not the picture of the thumbnail: a client
// that adds an item chooses its path, and must not read other pictures of the machine by it. A
// photo that has changed since it was added is not the item's any more either.
std::optional<Image> own_photo(const std::string& path, std::span<const std::uint8_t> thumbnail,
                               const ServerLimits& limits);

}  // namespace diml::server
