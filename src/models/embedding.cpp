#include "diml/embedding.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "base/enum_names.h"
#include "diml/error.h"

namespace diml {
namespace {

constexpr EnumNames<2> kChannelOrders = {"rgb", "bgr"};
constexpr EnumNames<2> kInterpolations = {"bilinear", "bicubic"};
const std::string kInterpolation = "interpolation";
constexpr EnumNames<2> kPoolingRules = {"align", "roi_align"};
constexpr EnumNames<2> kPrecisions = {"float32", "bfloat16"};
constexpr EnumNames<3> kBackends = {"auto", "onednn", "torch"};

std::string text_of(float value) {
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value);  // shortest that reads back
  return {digits, end.ptr};
}

std::string text_of(const std::array<float, 3>& values) {
  return text_of(values[0]) + " " + text_of(values[1]) + " " + text_of(values[2]);
}

std::size_t pixels_from(const std::string& name, const std::string& text) {
  std::size_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) {
    throw Error("preprocessing: " + name + " must be a number of pixels, not '" + text + "'");
  }
  return value;
}

std::array<float, 3> three_from(const std::string& name, std::string text) {
  for (char& c : text) {
    if (c == ',') c = ' ';
  }
  std::istringstream words(text);
  std::array<float, 3> values{};
  std::string rest;
  if (!(words >> values[0] >> values[1] >> values[2]) || words >> rest) {
    throw Error("preprocessing: " + name +
                " must be three numbers in grey levels of 0 to 255, such as '123.7 116.3 103.5', "
                "not '" +
                text + "'");
  }
  return values;
}

template <typename Enum>
Enum one_of(const EnumNames<2>& names, const std::string& text, const std::string& name) {
  try {
    return value_in<Enum>(names, text, name.c_str());
  } catch (const Error& error) {
    throw with_context(error, "preprocessing: ");
  }
}

}  // namespace

void check(const Preprocessing& preprocessing) {
  if (preprocessing.crop < kFewestPixels || preprocessing.resize > kMostPixels) {
    throw Error("preprocessing: the crop must have at least " + std::to_string(kFewestPixels) +
                " pixels and the short side at most " + std::to_string(kMostPixels));
  }
  if (preprocessing.crop > preprocessing.resize) {
    throw Error("preprocessing: a crop of " + std::to_string(preprocessing.crop) +
                " pixels does not fit into a short side of " +
                std::to_string(preprocessing.resize) + ": make resize larger or crop smaller");
  }
  for (std::size_t c = 0; c < 3; ++c) {
    if (!std::isfinite(preprocessing.mean[c]) || !std::isfinite(preprocessing.deviation[c]) ||
        preprocessing.deviation[c] <= 0.0F) {
      throw Error("preprocessing: mean and std must be finite, and std above 0");
    }
  }
}

std::map<std::string, std::string> to_text(const Preprocessing& preprocessing) {
  std::map<std::string, std::string> text = {
      {"resize", std::to_string(preprocessing.resize)},
      {"crop", std::to_string(preprocessing.crop)},
      {"channels", name_in(kChannelOrders, preprocessing.channels)},
      {"mean", text_of(preprocessing.mean)},
      {"std", text_of(preprocessing.deviation)}};
  if (preprocessing.interpolation != Interpolation::bilinear) {
    text[kInterpolation] = name_in(kInterpolations, preprocessing.interpolation);
  }
  return text;
}

std::optional<std::map<std::string, std::string>> preprocessing_in(
    const std::map<std::string, std::string>& text) {
  std::map<std::string, std::string> own = to_text(Preprocessing{});
  for (auto& [name, value] : own) {
    const auto found = text.find(name);
    if (found == text.end()) return {};
    value = found->second;
  }
  const auto found = text.find(kInterpolation);
  own[kInterpolation] =
      found == text.end() ? name_in(kInterpolations, Interpolation::bilinear) : found->second;
  return own;
}

void from_text(const std::map<std::string, std::string>& text, Preprocessing& preprocessing) {
  for (const auto& [name, value] : text) {
    if (name == "resize") {
      preprocessing.resize = pixels_from(name, value);
    } else if (name == "crop") {
      preprocessing.crop = pixels_from(name, value);
    } else if (name == "channels") {
      preprocessing.channels = one_of<ChannelOrder>(kChannelOrders, value, name);
    } else if (name == kInterpolation) {
      preprocessing.interpolation = one_of<Interpolation>(kInterpolations, value, name);
    } else if (name == "mean") {
      preprocessing.mean = three_from(name, value);
    } else if (name == "std") {
      preprocessing.deviation = three_from(name, value);
    } else {
      throw Error("preprocessing: there is no '" + name +
                  "': the names are resize, crop, interpolation, channels, mean and std");
    }
  }
  check(preprocessing);
}

PoolingRule pooling_rule_from(std::string_view name) {
  return value_in<PoolingRule>(kPoolingRules, name, "pooling");
}

const char* name_of(PoolingRule rule) { return name_in(kPoolingRules, rule); }

Precision precision_from(std::string_view name) {
  return value_in<Precision>(kPrecisions, name, "precision");
}

const char* name_of(Precision precision) { return name_in(kPrecisions, precision); }

NetworkBackend network_backend_from(std::string_view name) {
  return value_in<NetworkBackend>(kBackends, name, "backend");
}

const char* name_of(NetworkBackend backend) { return name_in(kBackends, backend); }

std::size_t default_batch(const std::string& device) { return device == "cpu" ? 8 : 256; }

}  // namespace diml
