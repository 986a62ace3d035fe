#include "engine/compared_image.h"

#include <charconv>
#include <filesystem>

#include "diml/error.h"

namespace diml {
namespace {

namespace fs = std::filesystem;

// Nothing where it is unknown: then whole images are shown.
std::optional<Preprocessing> preprocessing_of(const GridFormat& format) {
  const auto words = preprocessing_in(format.embedding);
  if (!words) return std::nullopt;
  Preprocessing preprocessing;
  from_text(*words, preprocessing);
  return preprocessing;
}

Image seen(const GridFormat& format, const Image& photo) {
  const std::optional<Preprocessing> how = preprocessing_of(format);
  if (!how) return photo;
  return resize_and_centre_crop(photo, how->resize, how->crop, how->interpolation);
}

}  // namespace

std::optional<std::int64_t> item_called(const GridSnapshot& snapshot, const std::string& text) {
  std::int64_t id = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, id);
  if (error == std::errc() && stop == end) return id;
  if (const auto found = snapshot.find(text)) return found;
  return snapshot.find(fs::absolute(text).lexically_normal().string());
}

ComparedImage stored_image(const GridSnapshot& snapshot, std::int64_t id) {
  const GridView grid = snapshot.grid(id);
  const std::string file = snapshot.item(id).path;
  const std::vector<std::uint8_t> thumbnail = snapshot.thumbnail(id);
  std::error_code unknown;
  Image whole;
  if (fs::exists(file, unknown)) {
    whole = read_image(file, {.orientation = Orientation::exif});
  } else if (!thumbnail.empty()) {
    whole = decode_image(thumbnail);
  } else {
    throw Error(ErrorKind::not_found,
                file + ": does not exist any more, and the gallery has no picture of it");
  }
  return {GridSet(set_of({&grid, 1})), seen(snapshot.format(), whole),
          fs::path(file).filename().string()};
}

ComparedImage photo_to_compare(const GridSnapshot& snapshot, const Image& photo,
                               const std::string& name, Embedder& embedder) {
  return {embedder.embed({&photo, 1}, snapshot.format().type), seen(snapshot.format(), photo),
          name};
}

}  // namespace diml
