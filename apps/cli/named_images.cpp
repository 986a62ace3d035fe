#include "named_images.h"

#include <filesystem>

#include "base/input_file.h"
#include "diml/error.h"
#include "diml/evaluate.h"

namespace diml::cli {

namespace fs = std::filesystem;

std::string NamedImages::path_of(std::int64_t image) const {
  return paths.empty() ? "" : paths[static_cast<std::size_t>(image)];
}

std::string NamedImages::name_of(std::int64_t image) const {
  const std::string path = path_of(image);
  return path.empty() ? "image " + std::to_string(image) : fs::path(path).filename().string();
}

std::string NamedImages::label_of(std::int64_t image) const {
  const std::int64_t label = labels[static_cast<std::size_t>(image)];
  if (label == kUnlabelled) return "";
  const auto place = static_cast<std::size_t>(label);
  return label >= 0 && place < class_names.size() ? class_names[place] : std::to_string(label);
}

std::vector<std::string> load_paths(const std::string& file, std::size_t count) {
  std::vector<std::string> paths = read_names(file);
  if (paths.size() != count) {
    throw Error(file + ": has " + std::to_string(paths.size()) + " lines where " +
                std::to_string(count) + " are wanted, one path for each image");
  }
  const fs::path folder = fs::path(file).parent_path();
  for (std::string& path : paths) {
    std::error_code unknown;
    if (path.empty() || fs::exists(path, unknown)) continue;
    const fs::path beside = folder / path;
    if (fs::exists(beside, unknown)) path = beside.string();
  }
  return paths;
}

}  // namespace diml::cli
