#include "diml/labelled_images.h"

#include <algorithm>

namespace diml {

void LabelledImages::cut_to(std::size_t count) {
  if (paths.size() <= count) return;
  paths.resize(count);
  labels.resize(count);
  if (!roles.empty()) roles.resize(count);
}

LabelledImages labelled_images(const Dataset& data) {
  LabelledImages images;
  if (data.own_photos) images.orientation = Orientation::exif;
  for (const Sample& sample : data.samples) {
    if (!sample.is_query && !sample.is_gallery) continue;
    images.paths.push_back(sample.path);
    images.labels.push_back(sample.label);
    images.roles.push_back(!sample.is_gallery ? Role::query
                           : sample.is_query  ? Role::both
                                              : Role::gallery);
  }
  const bool told_apart = std::any_of(images.roles.begin(), images.roles.end(),
                                      [](Role role) { return role != Role::both; });
  if (!told_apart) images.roles.clear();
  return images;
}

}  // namespace diml
