#include "model_config.h"

#include <cmath>
#include <filesystem>

#include "base/input_file.h"
#include "diml/error.h"
#include "weights/json_text.h"

namespace diml {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kDeepest = 32;
constexpr double kGreyLevels = 255.0;

const char* const kUsualNames[] = {"config.json", "preprocessor_config.json",
                                   "open_clip_config.json"};

// Nothing where the key is absent or null.
const json* found(const json& object, const char* key) {
  const auto at = object.find(key);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

const json* object_in(const json& object, const char* key) {
  const json* value = found(object, key);
  if (value != nullptr && !value->is_object()) {
    throw Error(std::string(key) + " is not an object");
  }
  return value;
}

double number_of(const json& value, const std::string& what) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) {
    throw Error(what + " is not a number");
  }
  return value.get<double>();
}

std::size_t pixels_of(const json& value, const std::string& what) {
  const double pixels = number_of(value, what);
  if (!(pixels >= 1.0 && pixels <= 1e6 && pixels == std::floor(pixels))) {
    throw Error(what + " is not a number of pixels");
  }
  return static_cast<std::size_t>(pixels);
}

std::optional<std::string> text_in(const json& object, const char* key) {
  const json* value = found(object, key);
  if (value == nullptr) return {};
  if (!value->is_string()) throw Error(std::string(key) + " is not text");
  return value->get<std::string>();
}

// Three numbers, times `scale`, as from_text() takes them.
std::string three_of(const json& list, double scale, const std::string& what) {
  if (!list.is_array() || list.size() != 3) throw Error(what + " is not a list of three numbers");
  std::string text;
  for (const json& one : list) text += json(number_of(one, what) * scale).dump() + " ";
  return text;
}

class Reader {
 public:
  explicit Reader(ModelConfig& config) : config_(config) {}

  void read(const json& file) {
    if (file.contains("architecture") || file.contains("pretrained_cfg")) {
      read_timm(file);
    } else if (const json* model = object_in(file, "model_cfg")) {
      read_open_clip(file, *model);
    } else if (file.contains("image_mean") || file.contains("image_processor_type") ||
               file.contains("feature_extractor_type")) {
      read_processor(file);
    } else {
      const json* tower = object_in(file, "vision_config");
      read_transformer(tower == nullptr ? file : *tower);
    }
  }

 private:
  void set(const char* name, std::string value) { config_.preprocessing[name] = std::move(value); }

  void set_square(std::size_t side, double share) {
    set("crop", std::to_string(side));
    set("resize",
        std::to_string(static_cast<std::size_t>(std::floor(static_cast<double>(side) / share))));
  }

  void set_mean_and_std(const json& object, double scale, const char* mean, const char* deviation) {
    if (const json* values = found(object, mean)) set("mean", three_of(*values, scale, mean));
    if (const json* values = found(object, deviation)) {
      set("std", three_of(*values, scale, deviation));
    }
  }

  void see_interpolation(const std::string& name) {
    if (name != "bilinear") {
      config_.notes.push_back("photos are resized bilinear where its own program takes " + name);
    }
  }

  void read_timm(const json& file) {
    if (const auto name = text_in(file, "architecture")) {
      config_.architecture = name->substr(0, name->find('.'));
    }
    const json* own = object_in(file, "pretrained_cfg");
    const json& photos = own == nullptr ? file : *own;
    if (const json* size = found(photos, "input_size")) {
      if (!size->is_array() || size->size() != 3 || (*size)[1] != (*size)[2]) {
        throw Error("input_size is not that of square photos, [3, side, side]");
      }
      const json* share = found(photos, "crop_pct");
      const double crop = share == nullptr ? 1.0 : number_of(*share, "crop_pct");
      if (!(crop >= 0.1 && crop <= 1.0)) throw Error("crop_pct is not between 0.1 and 1");
      set_square(pixels_of((*size)[1], "input_size"), crop);
    }
    if (const auto mode = text_in(photos, "crop_mode"); mode && *mode != "center") {
      config_.notes.push_back("its crop_mode '" + *mode + "' is taken for 'center'");
    }
    if (const auto name = text_in(photos, "interpolation")) see_interpolation(*name);
    set_mean_and_std(photos, kGreyLevels, "mean", "std");
  }

  void read_open_clip(const json& file, const json& model) {
    if (const json* tower = object_in(model, "vision_cfg")) {
      if (const json* size = found(*tower, "image_size")) {
        set_square(pixels_of(*size, "image_size"), 1.0);
      }
      if (const auto name = text_in(*tower, "timm_model_name")) {
        config_.architecture = name->substr(0, name->find('.'));
      }
    }
    const json* quick = found(model, "quick_gelu");
    config_.activation = quick != nullptr && *quick == true ? "quick_gelu" : "gelu";
    const json* photos = object_in(file, "preprocess_cfg");
    if (photos == nullptr) return;
    set_mean_and_std(*photos, kGreyLevels, "mean", "std");
    if (const auto name = text_in(*photos, "interpolation")) see_interpolation(*name);
    if (const auto mode = text_in(*photos, "resize_mode"); mode && *mode != "shortest") {
      config_.notes.push_back("its resize_mode '" + *mode + "' is taken for 'shortest'");
    }
  }

  // A number, or {"height", "width"}, or {"shortest_edge"}.
  std::size_t side_of(const json& size, const char* what) {
    if (!size.is_object()) return pixels_of(size, what);
    if (const json* edge = found(size, "shortest_edge")) return pixels_of(*edge, what);
    const json* height = found(size, "height");
    const json* width = found(size, "width");
    if (height == nullptr || width == nullptr || *height != *width) {
      throw Error(std::string(what) + " is not that of square photos");
    }
    return pixels_of(*height, what);
  }

  static bool is_on(const json& file, const char* key, bool otherwise) {
    const json* value = found(file, key);
    return value == nullptr ? otherwise : *value == true;
  }

  void read_processor(const json& file) {
    const json* size = found(file, "size");
    const json* crop = found(file, "crop_size");
    const bool crops = crop != nullptr && is_on(file, "do_center_crop", true);
    if (crops) set("crop", std::to_string(side_of(*crop, "crop_size")));
    if (size != nullptr && is_on(file, "do_resize", true)) {
      const std::string side = std::to_string(side_of(*size, "size"));
      set("resize", side);
      if (!crops) {
        set("crop", side);
        config_.notes.push_back(
            "photos are cropped to a square where its own program squeezes them");
      }
    }
    const json* factor = found(file, "rescale_factor");
    const double scale =
        is_on(file, "do_rescale", true)
            ? (factor == nullptr ? kGreyLevels : 1.0 / number_of(*factor, "rescale_factor"))
            : 1.0;
    set_mean_and_std(file, scale, "image_mean", "image_std");
    if (const json* resample = found(file, "resample")) {
      constexpr int kBilinear = 2;  // Pillow's numbers
      constexpr int kBicubic = 3;
      const double number = number_of(*resample, "resample");
      see_interpolation(number == kBilinear  ? "bilinear"
                        : number == kBicubic ? "bicubic"
                                             : "resample " + resample->dump());
    }
  }

  void read_transformer(const json& tower) {
    if (const json* heads = found(tower, "num_attention_heads")) {
      if (heads->is_number()) config_.heads = pixels_of(*heads, "num_attention_heads");
    }
    if (const auto name = text_in(tower, "hidden_act")) config_.activation = name;
    if (const json* epsilon = found(tower, "layer_norm_eps")) {
      config_.epsilon = number_of(*epsilon, "layer_norm_eps");
    }
  }

  ModelConfig& config_;
};

void read_into(ModelConfig& config, const std::string& path) {
  try {
    config.read(read_file(path));
  } catch (const Error& error) {
    throw Error(error.kind(), path + ": " + error.what() +
                                  "; move it away from the weights to import them without it");
  }
  config.files += (config.files.empty() ? "" : ", ") + fs::path(path).filename().string();
}

}  // namespace

void ModelConfig::read(std::span<const std::uint8_t> bytes) {
  const json file = weights::parse_json(bytes, kDeepest, "the configuration");
  if (!file.is_object()) throw Error("is not a JSON object");
  Reader(*this).read(file);
}

ModelConfig config_beside(const std::string& weights) {
  ModelConfig config;
  const fs::path folder = fs::path(weights).parent_path();
  for (const char* name : kUsualNames) {
    const fs::path path = folder / name;
    std::error_code unknown;
    if (fs::is_regular_file(path, unknown)) read_into(config, path.string());
  }
  return config;
}

Activation activation_called(const std::string& name) {
  if (name == "gelu") return Activation::gelu;
  if (name == "quick_gelu") return Activation::quick_gelu;
  for (const char* tanh : {"gelu_pytorch_tanh", "gelu_new", "gelu_fast", "gelu_tanh"}) {
    if (name == tanh) return Activation::gelu_tanh;
  }
  throw Error(ErrorKind::unsupported,
              "its activation '" + name + "' is none of gelu, gelu_pytorch_tanh and quick_gelu");
}

}  // namespace diml
