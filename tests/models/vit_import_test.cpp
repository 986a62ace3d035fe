// Transformers under the names of the programs that wrote them.

#include <functional>
#include <span>

#include <gtest/gtest.h>

#include "base/refusal.h"
#include "base/temporary_folder.h"
#include "models/generated_model.h"
#include "models/vit.h"

namespace diml::test {
namespace {

using Tensors = std::map<std::string, Tensor>;

Tensor part_of(const Tensor& tensor, std::size_t part, std::size_t parts,
               std::size_t count_of_parts = 1) {
  const std::vector<float> values = tensor.floats();
  const std::size_t size = values.size() / parts;
  std::vector<std::size_t> shape = tensor.shape;
  shape[0] = shape[0] / parts * count_of_parts;
  return make_tensor(shape, std::span(values).subspan(part * size, count_of_parts * size));
}

Tensor without_batch(Tensor tensor, std::size_t axes) {
  while (tensor.shape.size() > axes) tensor.shape.erase(tensor.shape.begin());
  return tensor;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  if (const std::size_t at = text.find(what); at != std::string::npos) {
    text.replace(at, what.size(), with);
  }
  return text;
}

// Every array under the names that `rename` gives it; queries, keys and values apart where it puts
// {} into them.
Tensors renamed(const Model& model, const std::function<std::string(std::string)>& rename,
                const std::vector<std::string>& letters = {}) {
  Tensors theirs;
  for (const auto& [name, tensor] : model.tensors) {
    const std::string other = rename(name);
    if (other.find("{}") == std::string::npos) {
      theirs[other] = tensor;
      continue;
    }
    for (std::size_t k = 0; k < 3; ++k) {
      theirs[replaced(other, "{}", letters[k])] = part_of(tensor, k, 3);
    }
  }
  return theirs;
}

class VitImport : public testing::Test {
 protected:
  Model imported(const Tensors& theirs, const ImportParams& params = {}) const {
    Weights weights;
    weights.tensors = theirs;
    write_safetensors(folder_ / "w.safetensors", weights);
    return import_model(folder_ / "w.safetensors", params);
  }
  void expect_same(const Model& ours, const Model& expected) const {
    EXPECT_EQ(ours.tensors.size(), expected.tensors.size());
    for (const auto& [name, tensor] : expected.tensors) {
      ASSERT_TRUE(ours.tensors.contains(name)) << name;
      EXPECT_EQ(ours.tensors.at(name).shape, tensor.shape) << name;
      EXPECT_EQ(ours.tensors.at(name).floats(), tensor.floats()) << name;
    }
    EXPECT_EQ(vit::parsed(ours.architecture).heads, vit::parsed(expected.architecture).heads);
    // What was saved can be loaded.
    save_model(folder_ / "ours.safetensors", ours);
    EXPECT_EQ(load_model(folder_ / "ours.safetensors").architecture, ours.architecture);
  }
  TemporaryFolder folder_;
};

const std::string kSmall = "vit:width=64,depth=2,heads=1,patch=8,pixels=32";

TEST_F(VitImport, TakesTimmsNamesAsTheyAreAndDropsTheClassifier) {
  const Model model = generated_model(kSmall);
  Tensors theirs = renamed(model, [](const std::string& name) { return "module." + name; });
  theirs["module.head.weight"] = make_tensor({2, 64}, std::vector<float>(128, 1.0F));
  const Model ours = imported(theirs);
  expect_same(ours, model);
  EXPECT_EQ(ours.architecture, kSmall);
  EXPECT_EQ(ours.preprocessing.crop, 32U);
  EXPECT_NE(ours.provenance.find("by the arrays' shapes alone"), std::string::npos);
}

TEST_F(VitImport, TakesHuggingFacesNames) {
  const Model model = generated_model(kSmall);
  const auto rename = [](std::string name) {
    name = replaced(name, "patch_embed.proj", "embeddings.patch_embeddings.projection");
    name = replaced(name, "cls_token", "embeddings.cls_token");
    name = replaced(name, "pos_embed", "embeddings.position_embeddings");
    if (name.starts_with("norm.")) name = "layernorm" + name.substr(4);
    name = replaced(name, "blocks.", "encoder.layer.");
    name = replaced(name, "attn.qkv", "attention.attention.{}");
    name = replaced(name, "attn.proj", "attention.output.dense");
    name = replaced(name, "mlp.fc1", "intermediate.dense");
    name = replaced(name, "mlp.fc2", "output.dense");
    name = replaced(name, "norm1", "layernorm_before");
    return "vit." + replaced(name, "norm2", "layernorm_after");
  };
  Tensors theirs = renamed(model, rename, {"query", "key", "value"});
  theirs["vit.pooler.dense.weight"] = make_tensor({1}, {{1.0F}});
  theirs["classifier.weight"] = make_tensor({1}, {{1.0F}});
  expect_same(imported(theirs), model);
}

TEST_F(VitImport, TakesClipsNamesOfHuggingFace) {
  const Model model = generated_model(kSmall + ",pre_norm=yes,epsilon=1e-05,photos=clip");
  const auto rename = [](std::string name) {
    name = replaced(name, "patch_embed.proj", "embeddings.patch_embedding");
    name = replaced(name, "cls_token", "embeddings.class_embedding");
    name = replaced(name, "pos_embed", "embeddings.position_embedding.weight");
    if (name.starts_with("norm.")) name = "post_layernorm" + name.substr(4);
    name = replaced(name, "norm_pre", "pre_layrnorm");
    name = replaced(name, "blocks.", "encoder.layers.");
    name = replaced(name, "attn.qkv", "self_attn.{}_proj");
    name = replaced(name, "attn.proj", "self_attn.out_proj");
    name = replaced(name, "norm1", "layer_norm1");
    return "vision_model." + replaced(name, "norm2", "layer_norm2");
  };
  Tensors theirs = renamed(model, rename, {"q", "k", "v"});
  const std::string prefix = "vision_model.embeddings.";
  theirs[prefix + "class_embedding"] = without_batch(theirs[prefix + "class_embedding"], 1);
  theirs[prefix + "position_embedding.weight"] =
      without_batch(theirs[prefix + "position_embedding.weight"], 2);
  theirs["text_model.final_layer_norm.weight"] = make_tensor({1}, {{1.0F}});
  const Model ours = imported(theirs);
  expect_same(ours, model);
  EXPECT_EQ(to_text(ours.preprocessing),
            to_text(make_architecture(model.architecture, StridePlace::in_3x3).preprocessing));
  // The form of GELU is not in the arrays: the name says it.
  ImportParams params;
  params.architecture = model.architecture + ",activation=quick_gelu";
  EXPECT_EQ(imported(theirs, params).architecture, *params.architecture);
}

TEST_F(VitImport, TakesTheNamesOfOpenClip) {
  const Model model = generated_model(kSmall + ",pre_norm=yes,epsilon=1e-05,photos=clip");
  const auto rename = [](std::string name) {
    name = replaced(name, "patch_embed.proj", "conv1");
    name = replaced(name, "cls_token", "class_embedding");
    name = replaced(name, "pos_embed", "positional_embedding");
    if (name.starts_with("norm.")) name = "ln_post" + name.substr(4);
    name = replaced(name, "norm_pre", "ln_pre");
    name = replaced(name, "blocks.", "transformer.resblocks.");
    name = replaced(name, "attn.qkv.", "attn.in_proj_");
    name = replaced(name, "attn.proj", "attn.out_proj");
    name = replaced(name, "mlp.fc1", "mlp.c_fc");
    name = replaced(name, "mlp.fc2", "mlp.c_proj");
    name = replaced(name, "norm1", "ln_1");
    return "visual." + replaced(name, "norm2", "ln_2");
  };
  Tensors theirs = renamed(model, rename);
  theirs["visual.class_embedding"] = without_batch(theirs["visual.class_embedding"], 1);
  theirs["visual.proj"] = make_tensor({2, 2}, std::vector<float>(4, 1.0F));
  theirs["transformer.resblocks.0.ln_1.weight"] = make_tensor({1}, {{1.0F}});
  expect_same(imported(theirs), model);
}

TEST_F(VitImport, TakesTorchvisionsNames) {
  const Model model = generated_model(kSmall);
  const auto rename = [](std::string name) {
    name = replaced(name, "patch_embed.proj", "conv_proj");
    name = replaced(name, "cls_token", "class_token");
    name = replaced(name, "pos_embed", "encoder.pos_embedding");
    if (name.starts_with("norm.")) name = "encoder.ln" + name.substr(4);
    name = replaced(name, "blocks.", "encoder.layers.encoder_layer_");
    name = replaced(name, "attn.qkv.", "self_attention.in_proj_");
    name = replaced(name, "attn.proj", "self_attention.out_proj");
    name = replaced(name, "mlp.fc1", "mlp.0");
    name = replaced(name, "mlp.fc2", "mlp.3");
    name = replaced(name, "norm1", "ln_1");
    return replaced(name, "norm2", "ln_2");
  };
  Tensors theirs = renamed(model, rename);
  theirs["heads.head.weight"] = make_tensor({2}, {{1.0F, 1.0F}});
  expect_same(imported(theirs), model);
}

TEST_F(VitImport, TakesSiglipsPoolingApart) {
  const Model model =
      generated_model(kSmall + ",class_token=no,activation=gelu_tanh,pool=attention");
  const auto rename = [](std::string name) {
    if (name.starts_with("attn_pool.")) {
      name = "head." + name.substr(10);
      name = replaced(name, "latent", "probe");
      name = replaced(name, "head.norm", "head.layernorm");
      return "vision_model." + replaced(name, "head.proj", "head.attention.out_proj");
    }
    name = replaced(name, "patch_embed.proj", "embeddings.patch_embedding");
    name = replaced(name, "pos_embed", "embeddings.position_embedding.weight");
    if (name.starts_with("norm.")) name = "post_layernorm" + name.substr(4);
    name = replaced(name, "blocks.", "encoder.layers.");
    name = replaced(name, "attn.qkv", "self_attn.{}_proj");
    name = replaced(name, "attn.proj", "self_attn.out_proj");
    name = replaced(name, "norm1", "layer_norm1");
    return "vision_model." + replaced(name, "norm2", "layer_norm2");
  };
  Tensors theirs = renamed(model, rename, {"q", "k", "v"});
  for (const std::string part : {"weight", "bias"}) {
    const std::string q = "vision_model.head.q." + part;
    const std::string kv = "vision_model.head.kv." + part;
    std::vector<float> whole = theirs.at(q).floats();
    const std::vector<float> rest = theirs.at(kv).floats();
    whole.insert(whole.end(), rest.begin(), rest.end());
    std::vector<std::size_t> shape = theirs.at(q).shape;
    shape[0] *= 3;
    theirs["vision_model.head.attention.in_proj_" + part] = make_tensor(shape, whole);
    theirs.erase(q);
    theirs.erase(kv);
  }
  expect_same(imported(theirs), model);
}

// Meta's file gives the class token a position and registers none.
TEST_F(VitImport, TakesDinosNamesAndFoldsThePositionOfItsClassToken) {
  const Model model = generated_model(
      kSmall + ",registers=4,positions_of_all=no,layer_scale=yes,swiglu=yes,hidden=40");
  const auto rename = [](std::string name) {
    name = replaced(name, "reg_token", "register_tokens");
    name = replaced(name, "mlp.fc1", "mlp.w12");
    return replaced(name, "mlp.fc2", "mlp.w3");
  };
  Tensors theirs = renamed(model, rename);
  theirs["mask_token"] = make_tensor({1, 64}, std::vector<float>(64, 1.0F));
  std::vector<float> token = theirs.at("cls_token").floats();
  std::vector<float> positions(64, 0.25F);
  for (float& value : token) value -= 0.25F;
  const std::vector<float> places = theirs.at("pos_embed").floats();
  positions.insert(positions.end(), places.begin(), places.end());
  theirs["cls_token"] = make_tensor({1, 1, 64}, token);
  theirs["pos_embed"] = make_tensor({1, 17, 64}, positions);
  Model expected = model;
  for (std::size_t c = 0; c < token.size(); ++c) token[c] += 0.25F;
  expected.tensors["cls_token"] = make_tensor({1, 1, 64}, token);
  expect_same(imported(theirs), expected);
}

TEST_F(VitImport, SaysWhatElseTheArraysMayBe) {
  const Model model = make_model("deit_tiny_patch16_224", StridePlace::in_3x3, 0, 1);
  const Model guessed = imported(model.tensors);
  EXPECT_EQ(guessed.architecture, "vit_tiny_patch16_224");
  EXPECT_NE(guessed.provenance.find("taken for vit_tiny_patch16_224, may be deit_tiny_patch16_224"),
            std::string::npos)
      << guessed.provenance;
  EXPECT_EQ(guessed.preprocessing.mean[0], 127.5F);
  ImportParams params;
  params.architecture = "deit_tiny_patch16_224";
  const Model told = imported(model.tensors, params);
  EXPECT_EQ(told.architecture, "deit_tiny_patch16_224");
  EXPECT_EQ(told.preprocessing.mean[0], 123.675F);
}

TEST_F(VitImport, RefusesWhatItWouldHaveToIgnore) {
  const Model model = generated_model(kSmall);
  Tensors theirs = model.tensors;
  theirs["dist_token"] = theirs.at("cls_token");
  EXPECT_EQ(message_of([&] { (void)imported(theirs); }),
            (folder_ / "w.safetensors") + ": has 'dist_token', which " + kSmall + " does not have");
  theirs = model.tensors;
  theirs.erase("blocks.1.attn.qkv.bias");
  EXPECT_NE(message_of([&] { (void)imported(theirs); }).find("'blocks.1.attn.qkv.bias'"),
            std::string::npos);
}

TEST(Vit, DescriptionsComeBackAsTheyWere) {
  for (const vit::Named& one : vit::named()) {
    EXPECT_EQ(vit::description(vit::parsed(one.description)),
              vit::description(vit::parsed(vit::description(vit::parsed(one.description)))))
        << one.name;
    EXPECT_EQ(vit::parsed(one.description).width,
              make_architecture(one.name, StridePlace::in_3x3).channels())
        << one.name;
  }
  const auto refusal = [](const std::string& words) {
    return message_of([&] { (void)vit::parsed("vit:" + words); });
  };
  EXPECT_EQ(refusal("width=65,heads=2"), "vit:width=65,heads=2: heads must divide the width");
  EXPECT_EQ(refusal("width=wide"), "vit:width=wide: width: must be a number");
  EXPECT_NE(refusal("depht=3").find("there is no 'depht': the words are width, depth"),
            std::string::npos);
  EXPECT_NE(refusal("class_token=no").find("pool=token needs a class token"), std::string::npos);
  EXPECT_NE(refusal("depth=99999").find("sizes are 1 to"), std::string::npos);
}

}  // namespace
}  // namespace diml::test
