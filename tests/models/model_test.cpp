#include "models/model.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/refusal.h"
#include "base/temporary_folder.h"
#include "diml/error.h"
#include "models/generated_model.h"

namespace diml::test {
namespace {

void expect_same_tensors(const Model& x, const Model& y) {
  ASSERT_EQ(x.tensors.size(), y.tensors.size());
  for (const auto& [name, tensor] : x.tensors) {
    ASSERT_TRUE(y.tensors.contains(name)) << name;
    EXPECT_EQ(tensor.shape, y.tensors.at(name).shape) << name;
    EXPECT_EQ(tensor.floats(), y.tensors.at(name).floats()) << name;
  }
}

// The taps of an architecture: the stem and every block.
std::size_t parts_of(const Architecture& architecture) {
  return static_cast<std::size_t>(
      std::count_if(architecture.operations.begin(), architecture.operations.end(),
                    [](const Operation& one) { return !one.tap.empty(); }));
}

TEST(Architectures, HaveTheChannelsAndBlocksOfThePapers) {
  const auto shape = [](const char* name) {
    const Architecture a = make_architecture(name, StridePlace::in_3x3);
    return std::pair(parts_of(a) - 1, a.channels());
  };
  EXPECT_EQ(shape("resnet18"), std::pair(std::size_t{8}, std::size_t{512}));
  EXPECT_EQ(shape("resnet34"), std::pair(std::size_t{16}, std::size_t{512}));
  EXPECT_EQ(shape("resnet50"), std::pair(std::size_t{16}, std::size_t{2048}));
  EXPECT_EQ(shape("resnet101"), std::pair(std::size_t{33}, std::size_t{2048}));
}

TEST(Architectures, TheStrideIsWhereTheFormSays) {
  const auto strides = [](StridePlace place) {
    std::vector<std::pair<std::string, std::size_t>> list;
    for (const Operation& operation : make_architecture("resnet50", place).operations) {
      const auto* layer = std::get_if<Convolution>(&operation.kind);
      if (layer != nullptr && layer->name.starts_with("layer2.0.")) {
        list.emplace_back(layer->name.substr(9), layer->stride);
      }
    }
    return list;
  };
  using List = std::vector<std::pair<std::string, std::size_t>>;
  EXPECT_EQ(strides(StridePlace::in_1x1),
            (List{{"conv1", 2}, {"conv2", 1}, {"downsample.0", 2}, {"conv3", 1}}));
  EXPECT_EQ(strides(StridePlace::in_3x3),
            (List{{"conv1", 1}, {"conv2", 2}, {"downsample.0", 2}, {"conv3", 1}}));
}

TEST(Architectures, AnUnknownNameIsToldWithTheNearestOrWithSomeThatThereAre) {
  EXPECT_EQ(message_of([] { make_architecture("resnet5", StridePlace::in_1x1); }),
            "there is no architecture 'resnet5': the nearest is resnet50");
  const std::string message = message_of([] { make_architecture("vgg16", StridePlace::in_1x1); });
  EXPECT_EQ(message.find("there is no architecture 'vgg16': there are "), 0U) << message;
  EXPECT_NE(message.find("resnet50, "), std::string::npos) << message;
}

// Runs that start from a seed stay comparable with those of earlier versions: the numbers were
// noted before architectures became graphs.
TEST(Architectures, ASeedGivesTheWeightsThatItAlwaysGave) {
  const auto sum_of = [](const char* name) {
    std::uint64_t sum = 0;
    for (const auto& [key, tensor] : make_model(name, StridePlace::in_3x3, 16, 7).tensors) {
      for (const std::uint8_t byte : tensor.bytes) sum = sum * 31 + byte;
    }
    return sum;
  };
  EXPECT_EQ(sum_of("small"), 14371933500010136288ULL);
  EXPECT_EQ(sum_of("resnet50"), 17333180723348144149ULL);
}

TEST(Models, ComeBackFromDiskAsTheyWere) {
  const TemporaryFolder folder;
  Model model = make_model("small", StridePlace::in_1x1, 24, 5);
  model.epsilon = 1.001e-5;
  model.provenance = "a test";
  model.preprocessing.channels = ChannelOrder::bgr;
  model.preprocessing.mean = {103.939F, 116.779F, 123.68F};
  save_model(folder / "m.safetensors", model);
  const Model back = load_model(folder / "m.safetensors");
  EXPECT_EQ(back.architecture, "small");
  EXPECT_EQ(back.stride, StridePlace::in_1x1);
  EXPECT_EQ(back.epsilon, 1.001e-5);
  EXPECT_EQ(back.provenance, "a test");
  EXPECT_EQ(back.output_channels(), 24U);
  EXPECT_EQ(to_text(back.preprocessing), to_text(model.preprocessing));
  expect_same_tensors(model, back);
}

TEST(Models, KeepTheirCalibrationAndItsEvidence) {
  const TemporaryFolder folder;
  Model model = make_model("small", StridePlace::in_3x3, 8, 5);
  EXPECT_FALSE(model.calibration);
  Calibration calibration;
  calibration.grid = 7;
  calibration.lambda = 0.035;
  calibration.structural_weight = 2.0;
  calibration.rerank = 50;
  calibration.criterion = "map_at_r";
  calibration.value = 31.25;
  calibration.paper = 30.125;
  calibration.gain_error = 0.1;
  calibration.images = 5864;
  calibration.classes = 100;
  calibration.folds = 5;
  calibration.data = "cub200";
  model.calibration = calibration;
  save_model(folder / "m.safetensors", model);
  const Model back = load_model(folder / "m.safetensors");
  ASSERT_TRUE(back.calibration);
  EXPECT_EQ(*back.calibration, calibration);
  EXPECT_EQ(setting_text(calibration), "grid 7, lambda 0.035, structural weight 2, K 50");
}

TEST(Models, ADamagedCalibrationIsRefused) {
  std::map<std::string, std::string> text = to_text(Calibration{});
  EXPECT_EQ(calibration_from(text), Calibration{});
  EXPECT_FALSE(calibration_from({{"resize", "256"}}));
  for (const char* wrong : {"-1", "many", "", "1e9"}) {
    text["calibration.lambda"] = wrong;
    EXPECT_THROW((void)calibration_from(text), Error) << wrong;
  }
}

TEST(Models, ProjectionsBeginAsPyTorchsLinearLayersDo) {
  Model model = make_model("small", StridePlace::in_3x3, 0, 1);
  add_projection(model, 64, 7);
  const double channels = static_cast<double>(model.tensors.at("projection.weight").shape.at(1));
  for (const char* name : {"projection.weight", "projection.bias"}) {
    const std::vector<float> values = model.tensors.at(name).floats();
    double sum = 0.0;
    double squares = 0.0;
    for (const float value : values) {
      EXPECT_LE(std::abs(value), 1.0 / std::sqrt(channels)) << name;
      sum += value;
      squares += static_cast<double>(value) * value;
    }
    // Uniform within 1 / sqrt(channels): variance 1 / (3 channels), here to four standard errors.
    const double count = static_cast<double>(values.size());
    EXPECT_NEAR(sum / count * std::sqrt(channels), 0.0, 4.0 / std::sqrt(3.0 * count)) << name;
    EXPECT_NEAR(squares / count * channels, 1.0 / 3.0, 4.0 * std::sqrt(4.0 / 45.0 / count)) << name;
  }
  Model again = make_model("small", StridePlace::in_3x3, 0, 1);
  add_projection(again, 64, 7);
  expect_same_tensors(model, again);
}

TEST(Models, WithoutOurMetadataTellHowToBringThemIn) {
  const TemporaryFolder folder;
  Weights weights;
  weights.tensors = generated_model("small", StridePlace::in_3x3).tensors;
  write_safetensors(folder / "theirs.safetensors", weights);
  EXPECT_EQ(message_of([&] { load_model(folder / "theirs.safetensors"); }),
            (folder / "theirs.safetensors") + ": does not name its architecture: import it");
}

TEST(Models, AMissingOrMisshapenArrayIsNamed) {
  const TemporaryFolder folder;
  const auto broken = [&](const std::function<void(Model&)>& change) {
    Model model = make_model("small", StridePlace::in_3x3, 8, 1);
    change(model);
    save_model(folder / "m.safetensors", model);
    return message_of([&] { load_model(folder / "m.safetensors"); });
  };
  EXPECT_NE(broken([](Model& m) {
              m.tensors.erase("layer2.0.bn1.bias");
            }).find("the weights have no 'layer2.0.bn1.bias', which small needs"),
            std::string::npos);
  EXPECT_NE(broken([](Model& m) {
              m.tensors["projection.bias"] = make_tensor({2}, {{1.0F, 2.0F}});
            }).find("'projection.bias' is [2] where small needs [8]"),
            std::string::npos);
}

TEST(Import, TellsTheArchitectureByItsArraysAndDropsTheClassifier) {
  const TemporaryFolder folder;
  for (const std::string name : {"resnet18", "resnet34", "resnet50"}) {
    Weights weights;
    weights.tensors = generated_model(name, StridePlace::in_3x3).tensors;
    const std::size_t arrays = weights.tensors.size();
    weights.tensors["fc.weight"] = make_tensor({2, 3}, std::vector<float>(6, 1.0F));
    weights.tensors["fc.bias"] = make_tensor({2}, std::vector<float>(2, 1.0F));
    weights.tensors["bn1.num_batches_tracked"] = {TensorType::int64, {}, {1, 0, 0, 0, 0, 0, 0, 0}};
    write_safetensors(folder / "w.safetensors", weights);
    const Model model = import_model(folder / "w.safetensors");
    EXPECT_EQ(model.architecture, name);
    EXPECT_EQ(model.stride, StridePlace::in_3x3);
    EXPECT_EQ(model.tensors.size(), arrays);
    EXPECT_EQ(model.preprocessing.channels, ChannelOrder::rgb);
    EXPECT_NE(model.provenance.find("w.safetensors, sha256 "), std::string::npos);
  }
}

TEST(Import, LooksBehindThePrefixesOfTrainingScripts) {
  const TemporaryFolder folder;
  const Model generated = generated_model("small", StridePlace::in_3x3);
  Weights weights;
  for (const auto& [name, tensor] : generated.tensors) {
    weights.tensors["state_dict.module." + name] = tensor;
  }
  weights.tensors["optimizer.step"] = make_tensor({1}, {{3.0F}});
  write_safetensors(folder / "w.safetensors", weights);
  expect_same_tensors(import_model(folder / "w.safetensors"), generated);
}

TEST(Import, OverridesWhatTheFileDoesNotSay) {
  const TemporaryFolder folder;
  Weights weights;
  weights.tensors = generated_model("small", StridePlace::in_3x3).tensors;
  write_safetensors(folder / "w.safetensors", weights);
  ImportParams params;
  params.stride = StridePlace::in_1x1;
  params.preprocessing = {{"crop", "112"}, {"resize", "128"}, {"mean", "1,2,3"}};
  const Model model = import_model(folder / "w.safetensors", params);
  EXPECT_EQ(model.stride, StridePlace::in_1x1);
  EXPECT_EQ(model.preprocessing.crop, 112U);
  EXPECT_EQ(model.preprocessing.mean, (std::array{1.0F, 2.0F, 3.0F}));
}

TEST(Import, AnUnknownNetworkIsToldByItsFirstOddArray) {
  const TemporaryFolder folder;
  Weights weights;
  weights.tensors = generated_model("resnet18", StridePlace::in_3x3).tensors;
  weights.tensors["layer1.0.se.weight"] = make_tensor({1}, {{1.0F}});
  write_safetensors(folder / "w.safetensors", weights);
  EXPECT_EQ(message_of([&] { import_model(folder / "w.safetensors"); }),
            (folder / "w.safetensors") +
                ": is none of the known networks: nearest is resnet18, which has no "
                "'layer1.0.se.weight'");
}

// The same numbers under Keras' names, in HWIO, with biases before BatchNorm.
TEST(Import, KerasBecomesTorchvision) {
  const TemporaryFolder folder;
  const Model expected = generated_model("resnet50", StridePlace::in_1x1);
  Weights keras;
  const auto add = [&](const Convolution& layer, const std::string& name, const std::string& norm) {
    const std::vector<float> from = expected.tensors.at(layer.name + ".weight").floats();
    std::vector<float> kernel(from.size());
    const std::size_t k2 = layer.kernel * layer.kernel;
    for (std::size_t o = 0; o < layer.outputs; ++o) {
      for (std::size_t i = 0; i < layer.inputs; ++i) {
        for (std::size_t k = 0; k < k2; ++k) {
          kernel[(k * layer.inputs + i) * layer.outputs + o] =
              from[(o * layer.inputs + i) * k2 + k];
        }
      }
    }
    keras.tensors[name + "/kernel"] =
        make_tensor({layer.kernel, layer.kernel, layer.inputs, layer.outputs}, kernel);
    keras.tensors[name + "/bias"] =
        make_tensor({layer.outputs}, std::vector<float>(layer.outputs, 0.5F));
    std::vector<float> mean = expected.tensors.at(layer.norm + ".running_mean").floats();
    for (float& v : mean) v += 0.5F;
    keras.tensors[norm + "/moving_mean"] = make_tensor({layer.outputs}, mean);
    keras.tensors[norm + "/moving_variance"] = expected.tensors.at(layer.norm + ".running_var");
    keras.tensors[norm + "/gamma"] = expected.tensors.at(layer.norm + ".weight");
    keras.tensors[norm + "/beta"] = expected.tensors.at(layer.norm + ".bias");
  };
  const Architecture architecture = make_architecture("resnet50", StridePlace::in_1x1);
  for (const Operation& operation : architecture.operations) {
    const auto* layer = std::get_if<Convolution>(&operation.kind);
    if (layer == nullptr) continue;
    const std::string& ours = layer->name;
    if (ours == "conv1") {
      add(*layer, "conv1", "bn_conv1");
      continue;
    }
    const std::string block = std::string() + static_cast<char>(ours[5] + 1) +
                              static_cast<char>('a' + ours[7] - '0') + "_branch";
    const bool is_shortcut = ours.find("downsample") != std::string::npos;
    const std::string branch =
        is_shortcut ? "1" : std::string("2") + static_cast<char>('a' + ours.back() - '1');
    add(*layer, "res" + block + branch, "bn" + block + branch);
  }
  keras.tensors["fc1000/kernel"] = make_tensor({2, 3}, std::vector<float>(6, 1.0F));
  write_safetensors(folder / "keras.safetensors", keras);
  const Model model = import_model(folder / "keras.safetensors");
  EXPECT_EQ(model.architecture, "resnet50");
  EXPECT_EQ(model.stride, StridePlace::in_1x1);
  EXPECT_EQ(model.epsilon, 1.001e-5);
  EXPECT_EQ(model.preprocessing.channels, ChannelOrder::bgr);
  ASSERT_EQ(model.tensors.size(), expected.tensors.size());
  for (const auto& [name, tensor] : expected.tensors) {
    const std::vector<float> want = tensor.floats();
    const std::vector<float> got = model.tensors.at(name).floats();
    ASSERT_EQ(want.size(), got.size()) << name;
    for (std::size_t k = 0; k < want.size(); ++k) {
      ASSERT_NEAR(want[k], got[k], 1e-6) << name << " " << k;
    }
  }
}

TEST(Preprocessing, BadValuesAreToldWithTheRemedy) {
  const auto message = [](std::map<std::string, std::string> text) {
    return message_of([&] {
      Preprocessing preprocessing;
      from_text(text, preprocessing);
    });
  };
  EXPECT_EQ(message({{"crop", "300"}}),
            "preprocessing: a crop of 300 pixels does not fit into a short side of 256: make "
            "resize larger or crop smaller");
  EXPECT_EQ(message({{"crop", "wide"}}),
            "preprocessing: crop must be a number of pixels, not 'wide'");
  EXPECT_EQ(message({{"channels", "hsv"}}), "preprocessing: unknown channels 'hsv': rgb or bgr");
  EXPECT_EQ(message({{"std", "1 0 1"}}),
            "preprocessing: mean and std must be finite, and std above 0");
  EXPECT_EQ(
      message({{"colour", "1"}}),
      "preprocessing: there is no 'colour': the names are resize, crop, channels, mean and std");
}

}  // namespace
}  // namespace diml::test
