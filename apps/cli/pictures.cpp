#include "pictures.h"

#include <algorithm>

#include "command.h"
#include "diml/error.h"
#include "print_explanation.h"

namespace diml::cli {

std::optional<Preprocessing> named_preprocessing(const std::map<std::string, std::string>& given) {
  if (!given.contains("resize") && !given.contains("crop")) return std::nullopt;
  Preprocessing preprocessing;
  from_text(given, preprocessing);
  check(preprocessing);
  return preprocessing;
}

std::optional<Image> Pictures::of(std::int64_t image) {
  const std::string path = images_.path_of(image);
  if (path.empty()) return std::nullopt;
  try {
    Image photo = read_image(path, {.orientation = orientation_});
    ++shown_;
    return seen_ ? seen_by(*seen_, photo) : photo;
  } catch (const Error& error) {
    // An explanation is worth having without its picture.
    const std::string reason = error.what();
    if (std::find(unreadable_.begin(), unreadable_.end(), reason) == unreadable_.end()) {
      unreadable_.push_back(reason);
    }
    return std::nullopt;
  }
}

Image Pictures::or_grid(std::int64_t image, GridShape shape) {
  std::optional<Image> picture = of(image);
  return picture ? std::move(*picture) : grid_picture(shape);
}

void Pictures::tell() const {
  if (!unreadable_.empty()) {
    tell_at_end(std::to_string(unreadable_.size()) +
                (unreadable_.size() == 1 ? " picture" : " pictures") +
                " could not be read, the grid alone is drawn: " + unreadable_.front());
  }
  if (shown_ > 0 && !seen_) {
    tell_at_end(
        "photos are shown whole: if the network saw a part of them, say which, such as --resize "
        "256 --crop 224");
  }
}

Image grid_picture(GridShape shape) {
  constexpr std::size_t kSide = 256;  // about, of the longer side
  constexpr std::uint8_t kShades[] = {198, 176};
  const std::size_t cell =
      std::max<std::size_t>(8, kSide / std::max<std::size_t>({shape.rows, shape.cols, 1}));
  Image image{shape.cols * cell, shape.rows * cell, {}};
  image.pixels.reserve(image.width * image.height * 3);
  for (std::size_t y = 0; y < image.height; ++y) {
    for (std::size_t x = 0; x < image.width; ++x) {
      image.pixels.insert(image.pixels.end(), 3, kShades[(x / cell + y / cell) % 2]);
    }
  }
  return image;
}

}  // namespace diml::cli
