#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace diml::cli {

// What is known of the images of a set besides their grids, for people.
struct NamedImages {
  std::vector<std::string> paths{};  // empty where they are not known
  std::vector<std::int64_t> labels{};
  std::vector<std::string> class_names{};  // of the labels, where they have names

  std::string path_of(std::int64_t image) const;  // "" where it is not known
  std::string name_of(std::int64_t image) const;  // the name of its file, or "image 17"
  // The word, or the number as text; "" for an image without a label.
  std::string label_of(std::int64_t image) const;
};

// The lines of the file, as `diml embed` writes them. count: how many there must be. A relative
// path that is not there is looked for beside the file.
std::vector<std::string> load_paths(const std::string& file, std::size_t count);

}  // namespace diml::cli
