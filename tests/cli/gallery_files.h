#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/program_folder.h"
#include "diml/gallery.h"
#include "diml/generated.h"

namespace diml::test {

// A folder with grids to index: c.cells.npy and its companions, as `diml generate` writes them.
class GalleryFiles : public ProgramFolder {
 protected:
  static constexpr std::size_t kImages = 40;
  static constexpr std::size_t kDim = 16;

  explicit GalleryFiles(std::size_t images = kImages) {
    run_well({"generate", "--images", std::to_string(images), "--classes", "8", "--grid", "2",
              "--dim", std::to_string(kDim), "--out", "c"});
  }

  static Arguments joined(Arguments arguments, const Arguments& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static Arguments build(const Arguments& more = {}) {
    return joined({"index", "build", "g", "--embeddings", "c"}, more);
  }

  nlohmann::json json_of(const Arguments& arguments) const {
    return nlohmann::json::parse(run_well(joined(arguments, {"--json", "-"})));
  }

  // The files of an export without those that differ between equal galleries.
  std::vector<std::string> exported(const std::string& gallery) const {
    run_well({"index", "export", gallery, "--out", "exported"});
    std::vector<std::string> files;
    for (const char* name : {"cells.npy", "globals.npy", "labels.npy", "paths.txt"}) {
      files.push_back(bytes_of(at(std::string("exported.") + name)));
    }
    return files;
  }
};

}  // namespace diml::test
