#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diml/dataset.h"
#include "diml/evaluate.h"
#include "diml/image.h"

namespace diml {

// Images on disk, as retrieval wants them: what shows the same, who asks and who is found.
struct LabelledImages {
  std::vector<std::string> paths;
  std::vector<std::int64_t> labels;  // -1 where nothing is known
  std::vector<Role> roles;           // empty where every image is query and gallery
  Orientation orientation = Orientation::as_stored;

  // Keeps the first `count` images.
  void cut_to(std::size_t count);
};

// Those of the data set that are queries, in the gallery or both.
LabelledImages labelled_images(const Dataset& data);

}  // namespace diml
