#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/npy.h"
#include "cli/program_folder.h"

namespace diml::test {

// A folder with a small network, small.safetensors, and photos to embed with it: critters/, six
// classes of four pictures, of which the last three classes are the test split.
class PhotoFolder : public ProgramFolder {
 protected:
  static constexpr std::size_t kOfClass = 4;
  static constexpr std::size_t kTest = 3 * kOfClass;
  static constexpr std::size_t kDim = 16;

  PhotoFolder();

  // `diml embed` with the network, and `diml evaluate`, each with `more` options.
  static Arguments embed(const Arguments& more);
  static Arguments embed_critters(const std::string& out, const Arguments& more = {});
  // The output of `diml evaluate` for the network and these images, without the times.
  nlohmann::json evaluated_photos(const Arguments& more) const;
  // The same of PREFIX.cells.npy and its companions.
  nlohmann::json evaluated_files(const std::string& prefix, const Arguments& more = {}) const;

  // The pictures of the test split in the order of the data set.
  std::vector<std::string> photos() const;
  // A copy of a picture of the test split, in a folder that is created if needed.
  void put_photo(std::size_t photo, const std::string& name) const;
  void put_text(const std::string& name, const std::string& text) const;

  std::vector<float> floats_in(const std::string& name) const;
  std::vector<std::int64_t> integers_in(const std::string& name) const;
  std::vector<std::string> lines_in(const std::string& name) const;
  std::vector<std::size_t> shape_of(const std::string& name) const;

  // Every file of the prefix with its bytes.
  std::vector<std::pair<std::string, std::string>> files_of(const std::string& prefix) const;
};

}  // namespace diml::test
