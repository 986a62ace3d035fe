#pragma once

#include <string>
#include <vector>

#include "base/image_names.h"

namespace diml {

struct ImagesBelow {
  std::vector<std::string> paths;  // in alphabetical order; each begins with the folder's name
  UnreadableImages unreadable;     // pictures that this build cannot read
};

// All images of a folder and of the folders in it, by their names. Links are followed, but never
// back to a folder above. Throws where a folder cannot be read: its images are not just missing.
ImagesBelow images_below(const std::string& folder);

}  // namespace diml
