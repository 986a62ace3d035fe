#include "images.h"

namespace diml::python {

Image image_of(const Pixels& pixels) {
  if (pixels.ndim() != 3 || pixels.shape(2) != 3 || pixels.size() == 0) {
    throw Error("a picture is an array of 8-bit RGB, [height, width, 3]");
  }
  Image image{
      static_cast<std::size_t>(pixels.shape(1)), static_cast<std::size_t>(pixels.shape(0)), {}};
  image.pixels.assign(pixels.data(), pixels.data() + pixels.size());
  return image;
}

Pixels pixels_of(const Image& image) {
  Pixels pixels({static_cast<py::ssize_t>(image.height), static_cast<py::ssize_t>(image.width),
                 py::ssize_t{3}});
  std::copy(image.pixels.begin(), image.pixels.end(), pixels.mutable_data());
  return pixels;
}

Orientation orientation_from(const std::string& name) {
  if (name == "exif") return Orientation::exif;
  if (name == "as_stored") return Orientation::as_stored;
  throw Error("unknown orientation '" + name + "': exif or as_stored");
}

}  // namespace diml::python
