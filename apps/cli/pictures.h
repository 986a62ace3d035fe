#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "diml/embedding.h"
#include "diml/explain.h"
#include "diml/image.h"
#include "named_images.h"

namespace diml::cli {

// The preprocessing that --resize and --crop name; nothing where neither was given.
std::optional<Preprocessing> named_preprocessing(const std::map<std::string, std::string>& given);

// The pictures of images of a set, where their paths are known.
class Pictures {
 public:
  // seen: what the network saw of a photo; without it, photos are shown whole.
  Pictures(const NamedImages& images, Orientation orientation, std::optional<Preprocessing> seen)
      : images_(images), orientation_(orientation), seen_(std::move(seen)) {}

  // Nothing where the path is not known or the file cannot be read.
  std::optional<Image> of(std::int64_t image);
  // The same; where there is no picture, the cells of its grid alone.
  Image or_grid(std::int64_t image, GridShape shape);

  // Says on standard error what could not be read, and what was shown whole.
  void tell() const;

 private:
  const NamedImages& images_;
  Orientation orientation_;
  std::optional<Preprocessing> seen_;
  std::size_t shown_ = 0;
  std::vector<std::string> unreadable_{};
};

// The cells of a grid as a board of two greys, for images without a picture.
Image grid_picture(GridShape shape);

}  // namespace diml::cli
