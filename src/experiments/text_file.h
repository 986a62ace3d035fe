#pragma once

#include <filesystem>
#include <string>

#include "base/input_file.h"
#include "base/output_file.h"

namespace diml::experiments {

inline std::string read_text(const std::string& path) {
  const std::vector<std::uint8_t> bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

// Makes the folder of the file, too.
inline void write_text(const std::string& path, const std::string& text) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty()) make_folder(folder);
  OutputFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace diml::experiments
