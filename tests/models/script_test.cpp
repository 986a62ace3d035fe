// Networks of other programs as TorchScript (tools/make_torchscript_golden.py).

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/refusal.h"
#include "base/temporary_folder.h"
#include "diml/error.h"
#include "diml/network.h"
#include "engine/open_network.h"
#include "learn/torch_network.h"

namespace diml::test {
namespace {

constexpr std::size_t kHeight = 48;
constexpr std::size_t kWidth = 32;

std::string program(const std::string& name) {
  return std::string(DIML_GOLDEN) + "/script_" + name + ".pt";
}

OpenedNetwork open(const std::string& path,
                   const std::map<std::string, std::string>& preprocessing = {}) {
  return open_network({.model = path, .preprocessing = preprocessing});
}

std::string shape_refusal(const std::string& name) {
  return message_of(
      [&] { load_torchscript_network(program(name), {})->output_shape(kHeight, kWidth); });
}

// The largest difference from PyTorch's output in evaluation mode.
double largest_error(Precision precision, std::size_t batch) {
  EmbeddingParams params;
  params.precision = precision;
  const std::unique_ptr<Network> network = load_torchscript_network(program("map"), params);
  const MapShape shape = network->output_shape(kHeight, kWidth);
  std::ifstream file(std::string(DIML_GOLDEN) + "/script_map_answer.json");
  const nlohmann::json answer = nlohmann::json::parse(file);
  EXPECT_EQ(answer.at("shape"), nlohmann::json({1, shape.channels, shape.height, shape.width}));
  constexpr std::size_t kPixels = 3 * kHeight * kWidth;
  std::vector<float> pixels(batch * kPixels);
  for (std::size_t p = 0; p < pixels.size(); ++p) {
    pixels[p] = static_cast<float>(p % kPixels % 97) / 97.0F;
  }
  std::vector<float> maps(batch * shape.count());
  network->forward(pixels, batch, kHeight, kWidth, maps);
  const std::size_t places = shape.height * shape.width;
  double worst = 0.0;
  for (std::size_t k = 0; k < maps.size(); ++k) {
    // Ours has channels last, theirs first.
    const std::size_t channel = k % shape.channels;
    const std::size_t place = k / shape.channels % places;
    const double expected = answer.at("values").at(channel * places + place);
    worst = std::max(worst, std::abs(maps[k] - expected));
  }
  return worst;
}

TEST(TorchScript, GivesTheMapsOfPyTorchThoughSavedWhileTraining) {
  EXPECT_LT(largest_error(Precision::float32, 1), 1e-5);
  EXPECT_LT(largest_error(Precision::float32, 3), 1e-5);
}

TEST(TorchScript, RunsInBfloat16) {
  const double error = largest_error(Precision::bfloat16, 2);
  EXPECT_LT(error, 0.05);
  EXPECT_GT(error, 1e-5);  // or it was float32
}

TEST(TorchScript, WhatIsNoMapIsToldInOneLine) {
  EXPECT_EQ(shape_refusal("vector"),
            "the network gives [1, 3] where a map [images, channels, height, width] is needed: "
            "leave out its pooling and its classifier");
  EXPECT_EQ(shape_refusal("pair"),
            "the TorchScript program gives a Tuple where one tensor, the map, is needed");
  EXPECT_EQ(shape_refusal("four"),
            "the TorchScript program fails on images [1, 3, 48, 32]: shape '[1, 7]' is invalid for "
            "input of size 4608");
}

TEST(TorchScript, ArraysOfTheWrongSizeAreRefused) {
  const std::unique_ptr<Network> network = load_torchscript_network(program("map"), {});
  std::vector<float> pixels(3 * kHeight * kWidth);
  std::vector<float> map(network->output_shape(kHeight, kWidth).count());
  EXPECT_EQ(message_of([&] { network->forward(pixels, 2, kHeight, kWidth, map); }),
            "the network was given arrays of the wrong size");
  map.pop_back();
  EXPECT_EQ(message_of([&] { network->forward(pixels, 1, kHeight, kWidth, map); }),
            "the network was given arrays of the wrong size");
}

class ScriptFolder : public testing::Test {
 protected:
  ScriptFolder() { std::filesystem::copy(program("map"), path_); }

  Preprocessing preprocessing_with(const std::map<std::string, std::string>& overrides = {}) const {
    return open(path_, overrides).preprocessing;
  }
  std::string refusal(const std::string& sidecar) const {
    write_bytes(folder_ / "net.json", sidecar);
    return message_of([&] { open(path_); });
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "net.pt";
};

TEST_F(ScriptFolder, FilesThatAreNoProgramsAreToldWithTheRemedy) {
  const std::string whole = bytes_of(path_);
  for (const std::string& bytes : {std::string("PK\3\4 and no more"), whole.substr(0, 5000),
                                   whole.substr(0, whole.size() - 1)}) {
    write_bytes(path_, bytes);
    const std::string message = message_of([&] { open(path_); });
    EXPECT_EQ(message.find(path_ + ": is not a TorchScript program that can be loaded: "), 0U)
        << message;
  }
  for (const auto& [weights, remedy] :
       {std::pair("plain.pth", "; plain weights are imported"),
        std::pair("legacy.pth", "; weights of other kinds are imported")}) {
    const std::string message =
        message_of([&] { open(std::string(DIML_WEIGHTS) + "/" + weights); });
    EXPECT_NE(message.find(remedy), std::string::npos) << message;
  }
  EXPECT_EQ(message_of([&] { open(folder_ / "none.pt"); }).find(folder_ / "none.pt: there"), 0U);
}

TEST_F(ScriptFolder, PhotosEnterAsTorchvisionHasItUnlessAFileOrTheCallSaysSo) {
  EXPECT_EQ(to_text(preprocessing_with()), to_text(Preprocessing{}));
  write_bytes(folder_ / "net.json",
              R"({"resize": 300, "crop": 280, "channels": "bgr", "mean": [1.5, 2, 3e0],
                  "std": "4 5 6"})");
  Preprocessing expected = {.resize = 300,
                            .crop = 280,
                            .channels = ChannelOrder::bgr,
                            .mean = {1.5F, 2.0F, 3.0F},
                            .deviation = {4.0F, 5.0F, 6.0F}};
  EXPECT_EQ(to_text(preprocessing_with()), to_text(expected));
  expected.crop = 64;
  expected.channels = ChannelOrder::rgb;
  EXPECT_EQ(to_text(preprocessing_with({{"crop", "64"}, {"channels", "rgb"}})), to_text(expected));
  write_bytes(folder_ / "net.json", R"({"crop": 32})");  // the rest stays as it was
  expected = {};
  expected.crop = 32;
  EXPECT_EQ(to_text(preprocessing_with()), to_text(expected));
}

TEST_F(ScriptFolder, ABadFileOfPreprocessingIsNamedAndToldInOneLine) {
  const std::string json = folder_ / "net.json";
  for (const char* text : {"", "{", "[1]", "7", "{\"crop\": 32", "{\"crop\": 32} x", "\xff\xfe"}) {
    EXPECT_EQ(refusal(text).find(json + ": must be a JSON object such as {\"resize\": 256"), 0U)
        << text;
  }
  for (const char* text :
       {R"({"crop": "wide"})", R"({"crop": -3})", R"({"crop": 20.5})", R"({"crop": null})",
        R"({"crop": {"a": 1}})", R"({"colour": "rgb"})", R"({"channels": "hsv"})",
        R"({"channels": ["r", "g", "b"]})", R"({"mean": [1, 2]})", R"({"mean": [1, 2, 3, 4]})",
        R"({"mean": [1, 2, null]})", R"({"mean": 5})", R"({"std": [1, 0, 1]})", R"({"crop": 300})",
        R"({"crop": 99999999999999999999})", R"({"mean": [1e999, 2, 3]})"}) {
    EXPECT_EQ(refusal(text).find(json + ": "), 0U) << text << ": " << refusal(text);
  }
}

}  // namespace
}  // namespace diml::test
