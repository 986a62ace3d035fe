#include "layers/layers.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

namespace diml::test {
namespace {

namespace fs = std::filesystem;

const std::string kRoot = std::string(DIML_SOURCE) + "/";
const std::string kPublic = "include/diml/";

bool owns(const Layer& layer, const std::string& path) {
  if (layer.name == "cli") return path.starts_with("apps/cli/");
  if (path.starts_with("src/" + layer.name + "/")) return true;
  return std::any_of(layer.headers.begin(), layer.headers.end(), [&](const std::string& header) {
    return header.ends_with("/*") ? path.starts_with(kPublic + header.substr(0, header.size() - 1))
                                  : path == kPublic + header + ".h";
  });
}

const Layer& named(std::string_view name) {
  return *std::find_if(layers().begin(), layers().end(),
                       [&](const Layer& layer) { return layer.name == name; });
}

}  // namespace

const std::vector<Layer>& layers() {
  static const std::vector<Layer> all = {
      {"base", {}, {"error", "progress"}},
      {"images", {"base"}, {"image"}},
      {"weights", {"base"}, {}},
      {"models", {"images", "weights"}, {"embedding", "network"}},
      {"datasets", {"base"}, {"dataset"}},
      {"critters", {"datasets", "images"}, {}},
      {"match", {"base"}, {"generated", "grid", "marginals", "match", "matcher", "transport"}},
      {"explain", {"datasets", "images", "match"}, {"explain", "figure"}},
      {"learn", {"datasets", "match", "models"}, {"learn/*"}},
      {"metrics", {"base"}, {"metrics"}},
      {"search",
       {"match"},
       {"approximate_index", "candidates", "grid_store", "retriever", "searcher"}},
      {"gallery", {"search"}, {"gallery"}},
      {"engine",
       {"datasets", "explain", "gallery", "images", "metrics", "models", "search"},
       {"embedder", "evaluate", "evaluate_dataset", "gallery_images", "train"}},
      {"training", {"engine", "learn"}, {}},
      {"plugin", {"training"}, {}},
      {"experiments", {"engine"}, {}},
      {"server", {"engine", "explain"}, {"server"}},
      {"cli", {"critters", "engine", "experiments", "explain", "server"}, {}},
  };
  return all;
}

std::string layer_of(const std::string& path) {
  const auto found = std::find_if(layers().begin(), layers().end(),
                                  [&](const Layer& layer) { return owns(layer, path); });
  return found == layers().end() ? "" : found->name;
}

bool may_include(std::string_view from, std::string_view what) {
  if (from == what) return true;
  const std::vector<std::string>& below = named(from).stands_on;
  return std::any_of(below.begin(), below.end(),
                     [&](const std::string& layer) { return may_include(layer, what); });
}

std::vector<std::string> source_files() {
  std::vector<std::string> files;
  for (const char* folder : {"src", "apps", "include"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot + folder)) {
      const std::string ending = entry.path().extension().string();
      if (ending == ".h" || ending == ".cpp" || ending == ".cu" || ending == ".cuh") {
        files.push_back(entry.path().string().substr(kRoot.size()));
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> includes_of(const std::string& file) {
  static const std::regex kInclude("^\\s*#\\s*include\\s+\"([^\"]+)\"");
  std::vector<std::string> includes;
  std::ifstream text(kRoot + file);
  std::smatch found;
  for (std::string line; std::getline(text, line);) {
    if (std::regex_search(line, found, kInclude)) includes.push_back(found[1]);
  }
  return includes;
}

std::string resolved(const std::string& include, const std::string& file) {
  std::vector<std::string> folders = {fs::path(file).parent_path().string(), "src", "include"};
  // The folders of the layers below that some layers see: src/match for "cuda/top_k.h".
  for (const Layer& layer : layers()) folders.push_back("src/" + layer.name);
  for (const std::string& folder : folders) {
    const std::string path = (fs::path(folder) / include).lexically_normal().string();
    if (fs::exists(kRoot + path)) return path;
  }
  return "";
}

}  // namespace diml::test
