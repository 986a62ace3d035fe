#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <stdlib.h>

#include "diml/error.h"

namespace diml::cli {

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// A folder for the files of a benchmark, gone with it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "diml_bench_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw Error(name + ": cannot be made");
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace diml::cli
