// Configuration files of other programs, beside the weights that they are for.

#include "models/model_config.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/refusal.h"
#include "base/temporary_folder.h"
#include "diml/error.h"
#include "models/generated_model.h"

namespace diml::test {
namespace {

ModelConfig read(const std::string& text) {
  ModelConfig config;
  config.read({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  return config;
}

Preprocessing photos_of(const ModelConfig& config) {
  Preprocessing photos;
  from_text(config.preprocessing, photos);
  return photos;
}

TEST(ModelConfig, TimmNamesTheArchitectureAndHowPhotosArePrepared) {
  const ModelConfig config = read(
      R"({"architecture": "vit_tiny_patch16_224.augreg_in21k", "num_classes": 1000,
          "pretrained_cfg": {"input_size": [3, 224, 224], "interpolation": "bicubic",
          "crop_pct": 0.9, "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.5, 0.5]}})");
  EXPECT_EQ(config.architecture, "vit_tiny_patch16_224");
  const Preprocessing photos = photos_of(config);
  EXPECT_EQ(photos.crop, 224U);
  EXPECT_EQ(photos.resize, 248U);  // floor(224 / 0.9), as timm rounds
  ASSERT_EQ(config.notes.size(), 1U);
  EXPECT_EQ(config.notes[0], "photos are resized bilinear where its own program takes bicubic");
  EXPECT_EQ(photos.mean[0], 127.5F);
  EXPECT_EQ(photos.deviation[0], 63.75F);
}

TEST(ModelConfig, HuggingFacesProcessorGivesSizesMeanAndResampling) {
  const Preprocessing photos = photos_of(read(
      R"({"image_processor_type": "BitImageProcessor", "do_center_crop": true, "do_resize": true,
          "crop_size": {"height": 224, "width": 224}, "size": {"shortest_edge": 256},
          "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225],
          "resample": 3, "rescale_factor": 0.00392156862745098})"));
  EXPECT_EQ(photos.crop, 224U);
  EXPECT_EQ(photos.resize, 256U);
  EXPECT_FLOAT_EQ(photos.mean[0], 123.675F);
  EXPECT_FLOAT_EQ(photos.deviation[2], 57.375F);
}

// Ours crops where theirs changes the proportions: that is said, not passed over.
TEST(ModelConfig, SaysWherePhotosAreSqueezedElsewhere) {
  const ModelConfig config = read(
      R"({"feature_extractor_type": "ViTFeatureExtractor", "do_resize": true, "size": 224,
          "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "resample": 1})");
  EXPECT_EQ(photos_of(config).resize, 224U);
  ASSERT_EQ(config.notes.size(), 2U);
  EXPECT_EQ(config.notes[0], "photos are cropped to a square where its own program squeezes them");
  EXPECT_EQ(config.notes[1], "photos are resized bilinear where its own program takes resample 1");
}

TEST(ModelConfig, HuggingFacesModelGivesHeadsActivationAndEpsilon) {
  const ModelConfig config = read(
      R"({"model_type": "clip", "hidden_act": "relu", "vision_config": {"hidden_act": "quick_gelu",
          "num_attention_heads": 12, "layer_norm_eps": 1e-05}, "text_config": null})");
  EXPECT_EQ(config.heads, 12U);
  EXPECT_EQ(activation_called(*config.activation), Activation::quick_gelu);
  EXPECT_EQ(config.epsilon, 1e-5);
  EXPECT_THROW(activation_called("relu"), Error);
}

TEST(ModelConfig, OpenClipGivesSizeActivationAndMean) {
  const ModelConfig config = read(
      R"({"model_cfg": {"quick_gelu": true, "vision_cfg": {"image_size": 224}},
          "preprocess_cfg": {"mean": [0.48, 0.46, 0.41], "std": [0.27, 0.26, 0.28],
          "interpolation": "bilinear", "resize_mode": "shortest"}})");
  EXPECT_EQ(config.activation, "quick_gelu");
  EXPECT_EQ(photos_of(config).resize, 224U);
  EXPECT_TRUE(config.notes.empty());
}

TEST(ModelConfig, RefusesWhatContradictsItself) {
  for (const char* text :
       {"[]", "{", R"({"architecture": 3})", R"({"image_mean": [1, 2]})",
        R"({"pretrained_cfg": {"input_size": [3, 224, 225]}})",
        R"({"pretrained_cfg": {"input_size": [3, 224, 224], "crop_pct": 0}})",
        R"({"pretrained_cfg": []})", R"({"image_mean": null, "size": {"height": 3}})",
        R"({"num_attention_heads": -1})", R"({"layer_norm_eps": "small"})"}) {
    EXPECT_THROW(read(text), Error) << text;
  }
}

class ImportWithConfig : public testing::Test {
 protected:
  ImportWithConfig() { save("w.safetensors", generated_model(kClip).tensors); }

  void save(const std::string& name, const std::map<std::string, Tensor>& tensors) const {
    Weights weights;
    weights.tensors = tensors;
    write_safetensors(folder_ / name, weights);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  Model imported(const ImportParams& params = {}) const {
    return import_model(folder_ / "w.safetensors", params);
  }
  const std::string kClip =
      "vit:width=64,depth=1,heads=1,patch=8,pixels=32,pre_norm=yes,epsilon=1e-05,photos=clip";
  TemporaryFolder folder_;
};

TEST_F(ImportWithConfig, TakesFromItWhatArraysDoNotSay) {
  EXPECT_EQ(imported().architecture, kClip);
  write("config.json", R"({"hidden_act": "quick_gelu", "num_attention_heads": 4})");
  write("preprocessor_config.json",
        R"({"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "size": 36,
            "crop_size": 32, "resample": 2})");
  const Model model = imported();
  EXPECT_EQ(model.architecture,
            "vit:width=64,depth=1,heads=4,patch=8,pixels=32,pre_norm=yes,activation=quick_gelu,"
            "epsilon=1e-05,photos=clip");
  EXPECT_EQ(model.preprocessing.resize, 36U);
  EXPECT_NE(model.provenance.find("configured by config.json, preprocessor_config.json"),
            std::string::npos)
      << model.provenance;
  // What the user says counts more.
  ImportParams params;
  params.preprocessing = {{"resize", "40"}};
  params.architecture = kClip;
  EXPECT_EQ(imported(params).preprocessing.resize, 40U);
  EXPECT_EQ(imported(params).architecture, kClip);
}

TEST_F(ImportWithConfig, TellsNetworksApartThatHaveTheSameArrays) {
  save("w.safetensors", make_model("deit_tiny_patch16_224", StridePlace::in_3x3, 0, 1).tensors);
  write("config.json",
        R"({"architecture": "deit_tiny_patch16_224", "pretrained_cfg": {"crop_pct": 0.9}})");
  EXPECT_EQ(imported().architecture, "deit_tiny_patch16_224");
  EXPECT_EQ(imported().provenance.find("may be"), std::string::npos);
}

TEST_F(ImportWithConfig, SaysWhichFileIsWrongAndHowToDoWithoutIt) {
  write("config.json", "{");
  const std::string told = message_of([&] { (void)imported(); });
  EXPECT_NE(told.find("config.json: the configuration is not valid JSON"), std::string::npos)
      << told;
  EXPECT_NE(told.find("move it away"), std::string::npos) << told;
}

TEST_F(ImportWithConfig, FindsTheWeightsOfAFolder) {
  save("model.safetensors", generated_model(kClip).tensors);
  write("config.json", R"({"num_attention_heads": 2})");
  EXPECT_NE(import_model(folder_ / ".").architecture.find("heads=2"), std::string::npos);
}

}  // namespace
}  // namespace diml::test
