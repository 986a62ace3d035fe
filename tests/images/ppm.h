#pragma once

#include <cmath>
#include <fstream>
#include <stdexcept>
#include <string>

#include "diml/image.h"

namespace diml::test {

inline std::string golden(const std::string& name) {
  return std::string(DIML_IMAGE_FOLDER "/") + name;
}

inline Image read_ppm(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string magic;
  Image image;
  std::size_t most = 0;
  file >> magic >> image.width >> image.height >> most;
  file.get();
  image.pixels.resize(image.width * image.height * 3);
  file.read(reinterpret_cast<char*>(image.pixels.data()),
            static_cast<std::streamsize>(image.pixels.size()));
  if (!file || magic != "P6" || most != 255) throw std::runtime_error("cannot read " + path);
  return image;
}

// The largest difference of two pixels' values; 256 for images of different size.
inline int largest_difference(const Image& x, const Image& y) {
  if (x.width != y.width || x.height != y.height) return 256;
  int largest = 0;
  for (std::size_t i = 0; i < x.pixels.size(); ++i) {
    largest = std::max(largest, std::abs(x.pixels[i] - y.pixels[i]));
  }
  return largest;
}

}  // namespace diml::test
