#include "own_photo.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/input_file.h"
#include "diml/error.h"
#include "diml/gallery_images.h"

namespace diml::server {
namespace {

namespace fs = std::filesystem;

// Of 255. Every pixel counts, not the mean: two pages of text have nearly the same mean. Thumbnails
// of one picture differ only where another version of the JPEG library has rounded differently.
constexpr int kLargestDifference = 12;

bool is_alike(const Image& one, const Image& other) {
  if (one.width != other.width || one.height != other.height) return false;
  return std::equal(one.pixels.begin(), one.pixels.end(), other.pixels.begin(),
                    [](int a, int b) { return std::abs(a - b) <= kLargestDifference; });
}

// An older gallery has smaller thumbnails: the picture is made as small as this one.
bool is_of(const Image& thumbnail, const Image& photo) {
  const std::size_t side = std::max(thumbnail.width, thumbnail.height);
  return is_alike(thumbnail, decode_image(make_thumbnail(photo, side)));
}

Image at_most(Image photo, std::size_t side) {
  const std::size_t longest = std::max(photo.width, photo.height);
  if (longest <= side) return photo;
  const auto scaled = [&](std::size_t extent) {
    return std::max<std::size_t>(1, (extent * side + longest / 2) / longest);
  };
  return resize(photo, scaled(photo.width), scaled(photo.height));
}

}  // namespace

std::optional<std::string> version_of_file(const std::string& path, const ServerLimits& limits) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || error) return std::nullopt;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error || size > limits.photo_bytes) return std::nullopt;
  const auto changed = fs::last_write_time(path, error);
  if (error) return std::nullopt;
  return std::to_string(changed.time_since_epoch().count()) + "-" + std::to_string(size);
}

std::optional<Image> own_photo(const std::string& path, std::span<const std::uint8_t> thumbnail,
                               const ServerLimits& limits) {
  if (thumbnail.empty() || !version_of_file(path, limits)) return std::nullopt;
  try {
    const Image small = decode_image(thumbnail);
    const std::vector<std::uint8_t> bytes = read_file(path);
    // Data sets are read as stored, photos of a user as the camera was held.
    for (const Orientation orientation : {Orientation::exif, Orientation::as_stored}) {
      Image photo = decode_image(bytes, {.orientation = orientation, .most_pixels = limits.pixels});
      if (is_of(small, photo)) return at_most(std::move(photo), limits.photo_side);
    }
  } catch (const Error&) {
    // The file is not a picture that can be read: the thumbnail is.
  }
  return std::nullopt;
}

}  // namespace diml::server
