#include "layers/layers.h"

#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

namespace diml::test {
namespace {

namespace fs = std::filesystem;

// Written by the build, of no layer.
bool is_generated(const std::string& include) {
  static const std::set<std::string> kGenerated = {"commit.h", "diml/version.h", "diml_features.h"};
  return include.starts_with("embedded/") || kGenerated.contains(include);
}

TEST(Layers, OwnEverySourceAndHeader) {
  for (const std::string& file : source_files()) {
    EXPECT_NE(layer_of(file), "") << file << ": say in layers() of which layer it is";
  }
}

TEST(Layers, NameNoHeaderThatIsGone) {
  for (const Layer& layer : layers()) {
    for (const std::string& header : layer.headers) {
      if (header.ends_with("/*")) continue;
      EXPECT_TRUE(fs::exists(std::string(DIML_SOURCE) + "/include/diml/" + header + ".h"))
          << header;
    }
  }
}

TEST(Layers, IncludeNothingOfALayerAbove) {
  std::size_t looked_at = 0;
  for (const std::string& file : source_files()) {
    const std::string from = layer_of(file);
    if (from.empty()) continue;  // told above
    for (const std::string& include : includes_of(file)) {
      if (is_generated(include)) continue;
      const std::string path = resolved(include, file);
      const std::string what = layer_of(path);
      ASSERT_NE(what, "") << file << " includes " << include << ", which is of no layer";
      ++looked_at;
      EXPECT_TRUE(may_include(from, what))
          << file << " (" << from << ") includes " << path << " of " << what;
    }
  }
  EXPECT_GT(looked_at, 1000u) << "the sources were not found";
}

// A header that is declared in one layer and defined in another lets the lower one call up.
TEST(Layers, DefineWhatTheyDeclare) {
  for (const std::string& file : source_files()) {
    const fs::path path(file);
    if (path.extension() != ".cpp" || !file.starts_with("src/")) continue;
    const std::string header = "include/diml/" + path.stem().string() + ".h";
    if (!fs::exists(std::string(DIML_SOURCE) + "/" + header)) continue;
    if (includes_of(file).empty() || "include/" + includes_of(file)[0] != header) continue;
    EXPECT_EQ(layer_of(header), layer_of(file)) << file;
  }
}

TEST(Layers, StandInTheOrderOfTheBuild) {
  std::ifstream build(std::string(DIML_SOURCE) + "/src/CMakeLists.txt");
  std::vector<std::string> built;
  const std::string kBegin = "diml_library(";
  for (std::string line; std::getline(build, line);) {
    const std::size_t begin = line.find(kBegin);
    if (begin == std::string::npos) continue;
    built.push_back(line.substr(begin + kBegin.size()));
  }
  std::vector<std::string> listed;
  for (const Layer& layer : layers()) {
    if (layer.name != "plugin" && layer.name != "cli") listed.push_back(layer.name);
    for (const std::string& below : layer.stands_on) {
      EXPECT_FALSE(may_include(below, layer.name)) << layer.name << " and " << below;
    }
  }
  EXPECT_EQ(listed, built);
}

}  // namespace
}  // namespace diml::test
