#include "datasets/images_below.h"

#include <algorithm>
#include <filesystem>

#include "base/system_error.h"

namespace diml {
namespace {

namespace fs = std::filesystem;

// above: the parents of this folder, so that a link back to one of them is not followed.
void collect(const fs::path& folder, std::vector<fs::path>& above, ImagesBelow& found) {
  const fs::path place = fs::canonical(folder);
  if (std::find(above.begin(), above.end(), place) != above.end()) return;
  above.push_back(place);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) {
      collect(entry.path(), above, found);
    } else if (entry.is_regular_file()) {
      const std::string path = entry.path().string();
      if (is_image_name(path)) found.paths.push_back(path);
      if (is_unreadable_image_name(path)) ++found.unreadable[lower_case_ending(path)];
    }
  }
  above.pop_back();
}

}  // namespace

ImagesBelow images_below(const std::string& folder) {
  std::vector<fs::path> above;
  ImagesBelow found;
  try {
    collect(folder, above, found);
  } catch (const fs::filesystem_error& error) {
    throw system_error(error.path1().string() + ": cannot be read", error.code());
  }
  std::sort(found.paths.begin(), found.paths.end());
  return found;
}

}  // namespace diml
