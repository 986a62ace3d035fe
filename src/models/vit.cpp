// Vision transformers under timm's names: ViT, DeiT, DINO, DINOv2, and the image towers of CLIP and
// SigLIP.

#include "vit.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

#include "base/enum_names.h"
#include "base/setting_text.h"
#include "diml/error.h"
#include "families.h"

namespace diml::vit {
namespace {

constexpr std::string_view kPrefix = "vit:";

constexpr EnumNames<4> kActivations = {"none", "gelu", "gelu_tanh", "quick_gelu"};
constexpr EnumNames<3> kPools = {"token", "mean", "attention"};
constexpr EnumNames<3> kPhotos = {"imagenet", "half", "clip"};

// What a description may be at most: beyond any network that there is.
constexpr std::size_t kMost = 1U << 15U;

const std::vector<Named> kNamed = {
    {"vit_tiny_patch16_224", "vit:width=192,heads=3,photos=half"},
    {"vit_tiny_patch16_384", "vit:width=192,heads=3,pixels=384,resize=384,photos=half"},
    {"vit_small_patch16_224", "vit:width=384,heads=6,photos=half"},
    {"vit_small_patch16_384", "vit:width=384,heads=6,pixels=384,resize=384,photos=half"},
    {"vit_small_patch32_224", "vit:width=384,heads=6,patch=32,photos=half"},
    {"vit_small_patch8_224", "vit:width=384,heads=6,patch=8"},
    {"vit_base_patch16_224", "vit:width=768,heads=12,photos=half"},
    {"vit_base_patch16_384", "vit:width=768,heads=12,pixels=384,resize=384,photos=half"},
    {"vit_base_patch32_224", "vit:width=768,heads=12,patch=32,photos=half"},
    {"vit_base_patch8_224", "vit:width=768,heads=12,patch=8,photos=half"},
    {"vit_large_patch16_224", "vit:width=1024,depth=24,heads=16,photos=half"},
    {"vit_large_patch16_384", "vit:width=1024,depth=24,heads=16,pixels=384,resize=384,photos=half"},
    {"deit_tiny_patch16_224", "vit:width=192,heads=3"},
    {"deit_small_patch16_224", "vit:width=384,heads=6"},
    {"deit_base_patch16_224", "vit:width=768,heads=12"},
    {"deit_base_patch16_384", "vit:width=768,heads=12,pixels=384,resize=384"},
    {"deit3_small_patch16_224", "vit:width=384,heads=6,positions_of_all=no,layer_scale=yes"},
    {"deit3_medium_patch16_224", "vit:width=512,heads=8,positions_of_all=no,layer_scale=yes"},
    {"deit3_base_patch16_224", "vit:width=768,heads=12,positions_of_all=no,layer_scale=yes"},
    {"deit3_large_patch16_224",
     "vit:width=1024,depth=24,heads=16,positions_of_all=no,layer_scale=yes"},
    {"vit_small_patch14_dinov2",
     "vit:width=384,heads=6,patch=14,pixels=518,resize=518,layer_scale=yes"},
    {"vit_base_patch14_dinov2",
     "vit:width=768,heads=12,patch=14,pixels=518,resize=518,layer_scale=yes"},
    {"vit_large_patch14_dinov2",
     "vit:width=1024,depth=24,heads=16,patch=14,pixels=518,resize=518,layer_scale=yes"},
    {"vit_giant_patch14_dinov2",
     "vit:width=1536,depth=40,heads=24,hidden=4096,swiglu=yes,patch=14,pixels=518,resize=518,"
     "layer_scale=yes"},
    {"vit_small_patch14_reg4_dinov2",
     "vit:width=384,heads=6,patch=14,pixels=518,resize=518,layer_scale=yes,registers=4,"
     "positions_of_all=no"},
    {"vit_base_patch14_reg4_dinov2",
     "vit:width=768,heads=12,patch=14,pixels=518,resize=518,layer_scale=yes,registers=4,"
     "positions_of_all=no"},
    {"vit_large_patch14_reg4_dinov2",
     "vit:width=1024,depth=24,heads=16,patch=14,pixels=518,resize=518,layer_scale=yes,"
     "registers=4,positions_of_all=no"},
    {"vit_giant_patch14_reg4_dinov2",
     "vit:width=1536,depth=40,heads=24,hidden=4096,swiglu=yes,patch=14,pixels=518,resize=518,"
     "layer_scale=yes,registers=4,positions_of_all=no"},
    {"vit_base_patch16_clip_224", "vit:width=768,heads=12,pre_norm=yes,epsilon=1e-05,photos=clip"},
    {"vit_base_patch16_clip_quickgelu_224",
     "vit:width=768,heads=12,pre_norm=yes,epsilon=1e-05,photos=clip,activation=quick_gelu"},
    {"vit_base_patch32_clip_224",
     "vit:width=768,heads=12,patch=32,pre_norm=yes,epsilon=1e-05,photos=clip"},
    {"vit_base_patch32_clip_quickgelu_224",
     "vit:width=768,heads=12,patch=32,pre_norm=yes,epsilon=1e-05,photos=clip,"
     "activation=quick_gelu"},
    {"vit_large_patch14_clip_224",
     "vit:width=1024,depth=24,heads=16,patch=14,pre_norm=yes,epsilon=1e-05,photos=clip"},
    {"vit_large_patch14_clip_quickgelu_224",
     "vit:width=1024,depth=24,heads=16,patch=14,pre_norm=yes,epsilon=1e-05,photos=clip,"
     "activation=quick_gelu"},
    {"vit_large_patch14_clip_336",
     "vit:width=1024,depth=24,heads=16,patch=14,pixels=336,resize=336,pre_norm=yes,"
     "epsilon=1e-05,photos=clip"},
    {"vit_base_patch16_siglip_224",
     "vit:width=768,heads=12,class_token=no,pool=attention,activation=gelu_tanh,photos=half"},
    {"vit_base_patch16_siglip_256",
     "vit:width=768,heads=12,pixels=256,class_token=no,pool=attention,activation=gelu_tanh,"
     "photos=half"},
    {"vit_base_patch16_siglip_384",
     "vit:width=768,heads=12,pixels=384,resize=384,class_token=no,pool=attention,"
     "activation=gelu_tanh,photos=half"},
    {"vit_large_patch16_siglip_256",
     "vit:width=1024,depth=24,heads=16,pixels=256,class_token=no,pool=attention,"
     "activation=gelu_tanh,photos=half"},
    {"vit_large_patch16_siglip_384",
     "vit:width=1024,depth=24,heads=16,pixels=384,resize=384,class_token=no,pool=attention,"
     "activation=gelu_tanh,photos=half"},
    {"vit_so400m_patch14_siglip_224",
     "vit:width=1152,depth=27,heads=16,hidden=4304,patch=14,class_token=no,pool=attention,"
     "activation=gelu_tanh,photos=half"},
};

// One word of a description: its name, its value as text, and back.
struct Word {
  const char* name;
  std::string (*text)(const Vit& vit);
  void (*read)(Vit& vit, const std::string& value);
};

template <auto Member>
constexpr Word number(const char* name) {
  return {name, [](const Vit& vit) { return text::to_text(vit.*Member); },
          [](Vit& vit, const std::string& value) {
            if (!text::from_text(value, vit.*Member)) throw Error("must be a number");
          }};
}

template <auto Member>
constexpr Word choice(const char* name) {
  return {name, [](const Vit& vit) { return std::string(vit.*Member ? "yes" : "no"); },
          [](Vit& vit, const std::string& value) {
            if (value != "yes" && value != "no") throw Error("must be yes or no");
            vit.*Member = value == "yes";
          }};
}

template <auto Member, const auto& Names>
constexpr Word one_of(const char* name) {
  return {name, [](const Vit& vit) { return std::string(name_in(Names, vit.*Member)); },
          [](Vit& vit, const std::string& value) {
            using Enum = std::remove_reference_t<decltype(vit.*Member)>;
            vit.*Member = value_in<Enum>(Names, value, "choice");
          }};
}

const std::array kWords = {
    number<&Vit::width>("width"),
    number<&Vit::depth>("depth"),
    number<&Vit::heads>("heads"),
    number<&Vit::patch>("patch"),
    number<&Vit::pixels>("pixels"),
    number<&Vit::hidden>("hidden"),
    number<&Vit::registers>("registers"),
    choice<&Vit::class_token>("class_token"),
    choice<&Vit::positions_of_all>("positions_of_all"),
    choice<&Vit::pre_norm>("pre_norm"),
    choice<&Vit::layer_scale>("layer_scale"),
    choice<&Vit::swiglu>("swiglu"),
    one_of<&Vit::activation, kActivations>("activation"),
    one_of<&Vit::pool, kPools>("pool"),
    number<&Vit::epsilon>("epsilon"),
    number<&Vit::resize>("resize"),
    one_of<&Vit::photos, kPhotos>("photos"),
};

void check(const Vit& vit) {
  for (const std::size_t size : {vit.width, vit.depth, vit.heads, vit.patch, vit.pixels}) {
    if (size < 1 || size > kMost) throw Error("sizes are 1 to " + std::to_string(kMost));
  }
  if (vit.hidden > kMost || vit.registers > kMost || vit.resize > kMost) {
    throw Error("sizes are at most " + std::to_string(kMost));
  }
  if (vit.width % vit.heads != 0) throw Error("heads must divide the width");
  if (vit.pixels % vit.patch != 0) throw Error("patch must divide pixels");
  if (!(vit.epsilon > 0.0 && vit.epsilon < 1.0)) throw Error("epsilon must be above 0, below 1");
  if (vit.pool == Pool::token && !vit.class_token) {
    throw Error("pool=token needs a class token: pool is mean or attention");
  }
}

Vit vit_of(std::string_view name) {
  const auto found = std::find_if(kNamed.begin(), kNamed.end(),
                                  [&](const Named& one) { return name == one.name; });
  return parsed(found == kNamed.end() ? name : found->description);
}

Preprocessing preprocessing_of(const Vit& vit) {
  constexpr double kCropShare = 0.9;
  Preprocessing photos;
  photos.crop = vit.pixels;
  photos.resize = vit.resize > 0
                      ? vit.resize
                      : static_cast<std::size_t>(static_cast<double>(vit.pixels) / kCropShare);
  if (vit.photos == Photos::half) {
    photos.mean = photos.deviation = {127.5F, 127.5F, 127.5F};
  } else if (vit.photos == Photos::clip) {
    photos.mean = {122.7709383F, 116.7460125F, 104.09373615F};
    photos.deviation = {68.5005327F, 66.6321579F, 70.32316305F};
  }
  return photos;
}

// x + scale * second(activation(first(norm(x)))), or with SwiGLU between them.
Value add_mlp(Architecture& a, const Vit& vit, Value x, const std::string& name,
              const std::string& norm, const std::string& scale) {
  const std::size_t hidden = vit.hidden_width();
  Value inner = a.add({.kind = LayerNorm{norm, vit.width, vit.epsilon}, .source = x});
  inner = a.add({.kind = Linear{name + ".fc1", vit.width, vit.swiglu ? 2 * hidden : hidden,
                                vit.swiglu ? Activation::none : vit.activation},
                 .source = inner});
  if (vit.swiglu) inner = a.add({.kind = Gate{hidden}, .source = inner});
  return a.add({.kind = Linear{name + ".fc2", hidden, vit.width, Activation::none, scale},
                .source = inner,
                .second = x});
}

Value add_block(Architecture& a, const Vit& vit, Value x, const std::string& name) {
  const auto scale = [&](const char* number) {
    return vit.layer_scale ? name + ".ls" + number + ".gamma" : std::string();
  };
  Value inner = a.add({.kind = LayerNorm{name + ".norm1", vit.width, vit.epsilon}, .source = x});
  inner = a.add({.kind = Linear{name + ".attn.qkv", vit.width, 3 * vit.width}, .source = inner});
  inner = a.add({.kind = Attention{vit.heads, vit.width}, .source = inner});
  x = a.add(
      {.kind = Linear{name + ".attn.proj", vit.width, vit.width, Activation::none, scale("1")},
       .source = inner,
       .second = x});
  x = add_mlp(a, vit, x, name + ".mlp", name + ".norm2", scale("2"));
  a.operations.back().tap = name;
  return x;
}

Value add_attention_pooling(Architecture& a, const Vit& vit, Value tokens) {
  const std::string name = "attn_pool";
  Value query = a.add({.kind = LearntToken{name + ".latent", vit.width}});
  query = a.add({.kind = Linear{name + ".q", vit.width, vit.width}, .source = query});
  const Value others =
      a.add({.kind = Linear{name + ".kv", vit.width, 2 * vit.width}, .source = tokens});
  Value x = a.add({.kind = Attention{vit.heads, vit.width}, .source = query, .second = others});
  x = a.add({.kind = Linear{name + ".proj", vit.width, vit.width}, .source = x});
  Vit plain = vit;
  plain.swiglu = false;
  return add_mlp(a, plain, x, name + ".mlp", name + ".norm", "");
}

}  // namespace

std::vector<Named> named() { return kNamed; }

Vit parsed(std::string_view description) {
  Vit vit;
  try {
    std::string rest(description.substr(kPrefix.size()));
    while (!rest.empty()) {
      const std::string pair = rest.substr(0, rest.find(','));
      rest.erase(0, pair.size() + 1);
      const std::size_t equals = pair.find('=');
      const std::string name = pair.substr(0, equals);
      const auto word = std::find_if(kWords.begin(), kWords.end(),
                                     [&](const Word& one) { return name == one.name; });
      if (word == kWords.end() || equals == std::string::npos) {
        std::string known;
        for (const Word& one : kWords) known += (known.empty() ? "" : ", ") + std::string(one.name);
        throw Error("there is no '" + name + "': the words are " + known);
      }
      try {
        word->read(vit, pair.substr(equals + 1));
      } catch (const Error& error) {
        throw with_context(error, name + ": ");
      }
    }
    check(vit);
  } catch (const Error& error) {
    throw with_context(error, std::string(description) + ": ");
  }
  return vit;
}

std::string description(const Vit& vit) {
  const Vit plain;
  std::string text;
  for (const Word& word : kWords) {
    const std::string value = word.text(vit);
    if (value == word.text(plain)) continue;
    text += (text.empty() ? "" : ",") + std::string(word.name) + "=" + value;
  }
  return std::string(kPrefix) + text;
}

std::vector<std::string> names() {
  std::vector<std::string> list;
  for (const Named& one : kNamed) list.emplace_back(one.name);
  return list;
}

bool knows(std::string_view name) {
  return name.starts_with(kPrefix) ||
         std::any_of(kNamed.begin(), kNamed.end(),
                     [&](const Named& one) { return name == one.name; });
}

Architecture make(std::string_view name, StridePlace /*stride*/) {
  const Vit vit = vit_of(name);
  const std::size_t side = vit.pixels / vit.patch;
  Architecture a;
  a.name = name;
  a.preprocessing = preprocessing_of(vit);
  a.patch = vit.patch;
  Value x = a.add({.kind = Convolution{.name = "patch_embed.proj",
                                       .norm = "",
                                       .inputs = 3,
                                       .outputs = vit.width,
                                       .kernel = vit.patch,
                                       .stride = vit.patch,
                                       .bias = !vit.pre_norm}});
  x = a.add({.kind = Tokens{.class_token = vit.class_token ? "cls_token" : "",
                            .registers = "reg_token",
                            .positions = "pos_embed",
                            .width = vit.width,
                            .register_count = vit.registers,
                            .side = side,
                            .positions_of_all = vit.positions_of_all},
             .source = x});
  if (vit.pre_norm) {
    x = a.add({.kind = LayerNorm{"norm_pre", vit.width, vit.epsilon}, .source = x});
  }
  a.operations.back().tap = "stem";
  for (std::size_t block = 0; block < vit.depth; ++block) {
    x = add_block(a, vit, x, "blocks." + std::to_string(block));
  }
  a.map = a.add({.kind = LayerNorm{"norm", vit.width, vit.epsilon}, .source = x, .tap = "norm"});
  if (vit.pool == Pool::token) {
    a.global = a.add({.kind = FirstToken{}, .source = a.map, .tap = "global"});
  } else if (vit.pool == Pool::attention) {
    a.global = add_attention_pooling(a, vit, a.map);
    a.operations.back().tap = "global";
  }
  a.weights =
      "imported from timm, torchvision, Hugging Face, OpenCLIP and DINO; small networks of its "
      "kind "
      "agree with torch within 1e-4, ";
  a.weights += name == "vit_tiny_patch16_224"
                   ? "trained on ImageNet it puts the right class first on 17 of 17 photos"
                   : "trained ones were not compared";
  a.about = "a transformer of " + std::to_string(vit.depth) + " blocks, " + std::to_string(side) +
            " x " + std::to_string(side) + " patches of " + std::to_string(vit.patch) +
            " pixels, " + std::to_string(vit.width) + " channels";
  return a;
}

}  // namespace diml::vit
