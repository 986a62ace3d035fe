#pragma once

#include <string>

#include "calls.h"
#include "diml/image.h"

namespace diml::python {

using Pixels = py::array_t<std::uint8_t, py::array::c_style | py::array::forcecast>;

// Throws where the array is not [height, width, 3].
Image image_of(const Pixels& pixels);
Pixels pixels_of(const Image& image);

Orientation orientation_from(const std::string& name);

}  // namespace diml::python
