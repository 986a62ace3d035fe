// Names of others for the arrays of vision transformers, and what the arrays say about theirs.

#include <algorithm>
#include <cmath>
#include <span>

#include "base/npy.h"
#include "diml/error.h"
#include "names.h"
#include "vit.h"

namespace diml::vit {
namespace {

using Tensors = std::map<std::string, Tensor>;

// '#' stands for the number of a block. Whatever follows the last word (.weight, .bias) stays.
struct Rename {
  const char* theirs;
  const char* ours;  // empty: left out
};

// How one program names its arrays; the kernel of the patches tells it.
struct Style {
  const char* patches;
  std::vector<Rename> renames;
};

const std::vector<Style>& styles() {
  static const std::vector<Style> list = {
      // timm and Meta's DINO and DINOv2: our names, but for a few.
      {"patch_embed.proj.weight",
       {{"mask_token", ""},
        {"head", ""},
        {"fc", ""},
        {"register_tokens", "registers"},
        {"blocks.#.mlp.w12", "blocks.#.mlp.fc1"},
        {"blocks.#.mlp.w3", "blocks.#.mlp.fc2"}}},
      // Hugging Face: ViT, DeiT, DINOv2.
      {"embeddings.patch_embeddings.projection.weight",
       {{"embeddings.patch_embeddings.projection", "patch_embed.proj"},
        {"embeddings.cls_token", "cls_token"},
        {"embeddings.position_embeddings", "pos_embed"},
        {"embeddings.register_tokens", "registers"},
        {"embeddings.mask_token", ""},
        {"pooler", ""},
        {"layernorm", "norm"},
        {"encoder.layer.#.attention.attention.query", "blocks.#.attn.q"},
        {"encoder.layer.#.attention.attention.key", "blocks.#.attn.k"},
        {"encoder.layer.#.attention.attention.value", "blocks.#.attn.v"},
        {"encoder.layer.#.attention.output.dense", "blocks.#.attn.proj"},
        {"encoder.layer.#.intermediate.dense", "blocks.#.mlp.fc1"},
        {"encoder.layer.#.output.dense", "blocks.#.mlp.fc2"},
        {"encoder.layer.#.layernorm_before", "blocks.#.norm1"},
        {"encoder.layer.#.layernorm_after", "blocks.#.norm2"},
        {"encoder.layer.#.norm1", "blocks.#.norm1"},
        {"encoder.layer.#.norm2", "blocks.#.norm2"},
        {"encoder.layer.#.layer_scale1.lambda1", "blocks.#.ls1.gamma"},
        {"encoder.layer.#.layer_scale2.lambda1", "blocks.#.ls2.gamma"},
        {"encoder.layer.#.mlp.fc1", "blocks.#.mlp.fc1"},
        {"encoder.layer.#.mlp.fc2", "blocks.#.mlp.fc2"},
        {"encoder.layer.#.mlp.weights_in", "blocks.#.mlp.fc1"},
        {"encoder.layer.#.mlp.weights_out", "blocks.#.mlp.fc2"}}},
      // Hugging Face: CLIP and SigLIP, behind "vision_model.".
      {"embeddings.patch_embedding.weight",
       {{"embeddings.patch_embedding", "patch_embed.proj"},
        {"embeddings.class_embedding", "cls_token"},
        {"embeddings.position_embedding.weight", "pos_embed"},
        {"embeddings.position_ids", ""},
        {"pre_layrnorm", "norm_pre"},
        {"post_layernorm", "norm"},
        {"encoder.layers.#.self_attn.q_proj", "blocks.#.attn.q"},
        {"encoder.layers.#.self_attn.k_proj", "blocks.#.attn.k"},
        {"encoder.layers.#.self_attn.v_proj", "blocks.#.attn.v"},
        {"encoder.layers.#.self_attn.out_proj", "blocks.#.attn.proj"},
        {"encoder.layers.#.layer_norm1", "blocks.#.norm1"},
        {"encoder.layers.#.layer_norm2", "blocks.#.norm2"},
        {"encoder.layers.#.mlp.fc1", "blocks.#.mlp.fc1"},
        {"encoder.layers.#.mlp.fc2", "blocks.#.mlp.fc2"},
        {"head.probe", "attn_pool.latent"},
        {"head.attention.in_proj_weight", "attn_pool.in_proj.weight"},
        {"head.attention.in_proj_bias", "attn_pool.in_proj.bias"},
        {"head.attention.out_proj", "attn_pool.proj"},
        {"head.layernorm", "attn_pool.norm"},
        {"head.mlp.fc1", "attn_pool.mlp.fc1"},
        {"head.mlp.fc2", "attn_pool.mlp.fc2"}}},
      // OpenAI's CLIP and OpenCLIP.
      {"visual.conv1.weight",
       {{"visual.conv1", "patch_embed.proj"},
        {"visual.class_embedding", "cls_token"},
        {"visual.positional_embedding", "pos_embed"},
        {"visual.ln_pre", "norm_pre"},
        {"visual.ln_post", "norm"},
        {"visual.proj", ""},
        {"visual.transformer.resblocks.#.attn.in_proj_weight", "blocks.#.attn.qkv.weight"},
        {"visual.transformer.resblocks.#.attn.in_proj_bias", "blocks.#.attn.qkv.bias"},
        {"visual.transformer.resblocks.#.attn.out_proj", "blocks.#.attn.proj"},
        {"visual.transformer.resblocks.#.ln_1", "blocks.#.norm1"},
        {"visual.transformer.resblocks.#.ln_2", "blocks.#.norm2"},
        {"visual.transformer.resblocks.#.mlp.c_fc", "blocks.#.mlp.fc1"},
        {"visual.transformer.resblocks.#.mlp.c_proj", "blocks.#.mlp.fc2"}}},
      // torchvision.
      {"conv_proj.weight",
       {{"conv_proj", "patch_embed.proj"},
        {"class_token", "cls_token"},
        {"encoder.pos_embedding", "pos_embed"},
        {"encoder.ln", "norm"},
        {"heads", ""},
        {"encoder.layers.encoder_layer_#.self_attention.in_proj_weight",
         "blocks.#.attn.qkv.weight"},
        {"encoder.layers.encoder_layer_#.self_attention.in_proj_bias", "blocks.#.attn.qkv.bias"},
        {"encoder.layers.encoder_layer_#.self_attention.out_proj", "blocks.#.attn.proj"},
        {"encoder.layers.encoder_layer_#.ln_1", "blocks.#.norm1"},
        {"encoder.layers.encoder_layer_#.ln_2", "blocks.#.norm2"},
        {"encoder.layers.encoder_layer_#.mlp.0", "blocks.#.mlp.fc1"},
        {"encoder.layers.encoder_layer_#.mlp.3", "blocks.#.mlp.fc2"},
        {"encoder.layers.encoder_layer_#.mlp.linear_1", "blocks.#.mlp.fc1"},
        {"encoder.layers.encoder_layer_#.mlp.linear_2", "blocks.#.mlp.fc2"}}},
  };
  return list;
}

// The name by this rule, or nothing where the rule is of another name.
std::optional<std::string> renamed(const std::string& name, const Rename& rename) {
  std::string pattern = rename.theirs;
  std::string number;
  if (const std::size_t hash = pattern.find('#'); hash != std::string::npos) {
    if (name.compare(0, hash, pattern, 0, hash) != 0) return {};
    const std::size_t end = name.find_first_not_of("0123456789", hash);
    if (end == hash || end == std::string::npos) return {};
    number = name.substr(hash, end - hash);
    pattern.replace(hash, 1, number);
  }
  if (name.compare(0, pattern.size(), pattern) != 0) return {};
  const std::string rest = name.substr(pattern.size());
  if (!rest.empty() && rest[0] != '.') return {};
  std::string ours = rename.ours;
  if (ours.empty()) return ours;
  if (const std::size_t hash = ours.find('#'); hash != std::string::npos) {
    ours.replace(hash, 1, number);
  }
  return ours + rest;
}

std::string our_name(const std::string& theirs, const Style& style) {
  for (const Rename& rename : style.renames) {
    if (const auto ours = renamed(theirs, rename)) return *ours;
  }
  return theirs;
}

// Rows [first, first + count) of an array, and arrays below each other.
Tensor rows_of(const Tensor& tensor, std::size_t first, std::size_t count) {
  const std::vector<float> values = tensor.floats();
  std::vector<std::size_t> shape = tensor.shape;
  const std::size_t of_row = values.size() / shape[0];
  shape[0] = count;
  return make_tensor(shape, std::span(values).subspan(first * of_row, count * of_row));
}

Tensor stacked(const std::vector<Tensor>& parts) {
  std::vector<float> values;
  std::vector<std::size_t> shape = parts[0].shape;
  shape[0] = 0;
  for (const Tensor& part : parts) {
    const std::vector<float> own = part.floats();
    values.insert(values.end(), own.begin(), own.end());
    shape[0] += part.shape[0];
  }
  return make_tensor(shape, values);
}

bool has(const Tensors& tensors, const std::string& name) { return tensors.contains(name); }

// attn.q, attn.k and attn.v become attn.qkv.
void join_queries_keys_values(Tensors& tensors) {
  for (std::size_t block = 0;; ++block) {
    const std::string attention = "blocks." + std::to_string(block) + ".attn.";
    if (!has(tensors, attention + "q.weight")) return;
    for (const std::string part : {".weight", ".bias"}) {
      std::vector<Tensor> parts;
      for (const char* letter : {"q", "k", "v"}) {
        const auto found = tensors.find(attention + letter + part);
        if (found == tensors.end() || found->second.shape.empty()) break;
        parts.push_back(std::move(found->second));
        tensors.erase(found);
      }
      if (parts.size() == 3) tensors[attention + "qkv" + part] = stacked(parts);
    }
  }
}

// The pooling's query stands above its keys and values.
void split_pooling(Tensors& tensors) {
  for (const std::string part : {".weight", ".bias"}) {
    const auto found = tensors.find("attn_pool.in_proj" + part);
    if (found == tensors.end()) continue;
    const Tensor whole = std::move(found->second);
    tensors.erase(found);
    if (whole.shape.empty() || whole.shape[0] % 3 != 0) {
      throw Error("'attn_pool.in_proj" + part + "' does not hold queries, keys and values");
    }
    const std::size_t width = whole.shape[0] / 3;
    tensors["attn_pool.q" + part] = rows_of(whole, 0, width);
    tensors["attn_pool.kv" + part] = rows_of(whole, width, 2 * width);
  }
}

// Others store tokens and positions without the axis of the batch.
void add_batch_axis(Tensors& tensors) {
  for (const char* name :
       {"cls_token", "reg_token", "registers", "pos_embed", "attn_pool.latent"}) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) continue;
    std::vector<std::size_t>& shape = found->second.shape;
    while (!shape.empty() && shape.size() < 3) shape.insert(shape.begin(), 1);
  }
}

// DINOv2's registers have no position, its class token has: added once and for all, as timm does.
void fold_position_of_class(Tensors& tensors) {
  const auto registers = tensors.find("registers");
  if (registers == tensors.end()) return;
  tensors["reg_token"] = std::move(registers->second);
  tensors.erase(registers);
  const auto token = tensors.find("cls_token");
  const auto positions = tensors.find("pos_embed");
  if (token == tensors.end() || positions == tensors.end()) return;
  std::vector<float> class_token = token->second.floats();
  const std::vector<float> all = positions->second.floats();
  const std::vector<std::size_t> shape = positions->second.shape;
  if (shape.size() != 3 || shape[2] != class_token.size() || shape[1] < 2) return;
  for (std::size_t c = 0; c < class_token.size(); ++c) class_token[c] += all[c];
  token->second = make_tensor(token->second.shape, class_token);
  positions->second =
      make_tensor({1, shape[1] - 1, shape[2]}, std::span(all).subspan(class_token.size()));
}

std::optional<std::size_t> root_of(std::size_t square) {
  const auto root = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(square))));
  if (root == 0 || root * root != square) return {};
  return root;
}

std::size_t size_of(const Tensors& tensors, const std::string& name, std::size_t axes,
                    std::size_t axis) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw Error("is not a whole transformer: it has no '" + name + "'");
  if (found->second.shape.size() != axes) {
    throw Error("'" + name + "' is " + shape_text(found->second.shape) + ", not of " +
                std::to_string(axes) + " axes");
  }
  return found->second.shape[axis];
}

// Arrays do not say how many heads there are; all published networks but these have 64 channels in
// each.
std::size_t heads_of(std::size_t width) {
  constexpr std::size_t kOfHead = 64;
  for (const auto& [wide, heads] : {std::pair<std::size_t, std::size_t>{1152, 16}, {1408, 16}}) {
    if (width == wide) return heads;
  }
  return width % kOfHead == 0 ? width / kOfHead : 0;
}

}  // namespace

std::optional<Tensors> from_others(Tensors& tensors) {
  const Style* style = nullptr;
  std::string prefix;
  std::string found;
  for (const Style& one : styles()) {
    const std::string patches = one.patches;
    for (const auto& [name, tensor] : tensors) {
      if (!name.ends_with(patches) || tensor.shape.size() != 4 || tensor.shape[1] != 3) continue;
      const std::string before = name.substr(0, name.size() - patches.size());
      if (!before.empty() && before.back() != '.') continue;
      if (style != nullptr) refuse_several(found, name);
      style = &one;
      prefix = before;
      found = name;
    }
  }
  // CLIP with a residual network has the name of the kernel, but no class token.
  if (style == nullptr || (std::string(style->patches) == "visual.conv1.weight" &&
                           !has(tensors, prefix + "visual.class_embedding"))) {
    return {};
  }
  Tensors ours;
  for (auto& [name, tensor] : tensors) {
    if (!name.starts_with(prefix)) continue;
    const std::string own = our_name(name.substr(prefix.size()), *style);
    // Beside a tower of OpenAI's names stands that of texts.
    const bool other_tower =
        std::string(style->patches).starts_with("visual.") && name.find("visual.") != prefix.size();
    if (own.empty() || other_tower) continue;
    ours[own] = tensor.type == TensorType::float32 ? std::move(tensor)
                                                   : make_tensor(tensor.shape, tensor.floats());
  }
  add_batch_axis(ours);
  join_queries_keys_values(ours);
  split_pooling(ours);
  fold_position_of_class(ours);
  return ours;
}

Vit from_arrays(const Tensors& tensors) {
  Vit vit;
  vit.width = size_of(tensors, "patch_embed.proj.weight", 4, 0);
  vit.patch = size_of(tensors, "patch_embed.proj.weight", 4, 2);
  vit.depth = 0;
  while (has(tensors, "blocks." + std::to_string(vit.depth) + ".norm1.weight")) ++vit.depth;
  vit.heads = heads_of(vit.width);
  vit.class_token = has(tensors, "cls_token");
  if (has(tensors, "reg_token")) vit.registers = size_of(tensors, "reg_token", 3, 1);
  vit.hidden = size_of(tensors, "blocks.0.mlp.fc2.weight", 2, 1);
  vit.swiglu = size_of(tensors, "blocks.0.mlp.fc1.weight", 2, 0) == 2 * vit.hidden;
  vit.layer_scale = has(tensors, "blocks.0.ls1.gamma");
  vit.pre_norm = has(tensors, "norm_pre.weight");
  if (has(tensors, "attn_pool.latent")) {
    vit.pool = Pool::attention;
    vit.activation = Activation::gelu_tanh;
  } else if (!vit.class_token) {
    vit.pool = Pool::mean;
  }
  if (vit.pre_norm) {
    vit.epsilon = 1e-5;
    vit.photos = Photos::clip;
  }
  const std::size_t positions = size_of(tensors, "pos_embed", 3, 1);
  const std::size_t prefix = (vit.class_token ? 1 : 0) + vit.registers;
  const auto side_of_all = positions > prefix ? root_of(positions - prefix) : std::nullopt;
  const auto side = side_of_all ? side_of_all : root_of(positions);
  if (!side) {
    throw Error("has " + std::to_string(positions) +
                " positions, and only those of square photos are read");
  }
  vit.positions_of_all = side_of_all.has_value();
  vit.pixels = *side * vit.patch;
  if (vit.hidden == 4 * vit.width) vit.hidden = 0;
  if (prefix == 0) vit.positions_of_all = true;  // the same
  return vit;
}

}  // namespace diml::vit
