#include "base/image_names.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "base/lower_case.h"
#include "diml/error.h"

namespace diml {
namespace {

constexpr std::array kFormats = {
    ImageFormat{"JPEG", "a JPEG", ".jpg .jpeg .jpe .jfif", true},
    ImageFormat{"PNG", "a PNG", ".png", true},
    ImageFormat{"WebP", "a WebP", ".webp", DIML_HAS_WEBP != 0, "libwebp-dev"},
    ImageFormat{"GIF", "a GIF", ".gif", true},
    ImageFormat{"BMP", "a BMP", ".bmp .dib", true},
    ImageFormat{"TIFF", "a TIFF", ".tif .tiff", DIML_HAS_TIFF != 0, "libtiff-dev"},
    ImageFormat{"HEIC", "a HEIC", ".heic .heif .hif", DIML_HAS_HEIF != 0, "libheif-dev"},
    ImageFormat{"AVIF", "an AVIF", ".avif", DIML_HAS_HEIF != 0, "libheif-dev"},
    ImageFormat{"JPEG XL", "a JPEG XL", ".jxl"},
    ImageFormat{"JPEG 2000", "a JPEG 2000", ".jp2 .j2k .jpx"},
    ImageFormat{"camera raw", "a raw file of a camera",
                ".dng .cr2 .cr3 .nef .arw .raf .orf .rw2 .pef"},
    ImageFormat{"Photoshop", "a Photoshop file", ".psd"},
    ImageFormat{"SVG", "an SVG drawing", ".svg"},
    ImageFormat{"PNM", "a PNM", ".ppm .pgm .pbm .pnm"},
    ImageFormat{"icon", "an icon", ".ico"},
    // What downloads and careless renaming leave among photos: no pictures, but worth their name.
    ImageFormat{"HTML", "a web page (HTML)", ""},
    ImageFormat{"PDF", "a PDF", ""},
    ImageFormat{"video", "a video", ""},
};

// "a, b or c"
std::string listed(const std::vector<std::string>& words, const char* last) {
  std::string text;
  for (std::size_t k = 0; k < words.size(); ++k) {
    if (k > 0) text += k + 1 == words.size() ? last : ", ";
    text += words[k];
  }
  return text;
}

}  // namespace

std::span<const ImageFormat> image_formats() { return kFormats; }

const ImageFormat& image_format(std::string_view name) {
  const auto found = std::find_if(kFormats.begin(), kFormats.end(),
                                  [&](const ImageFormat& format) { return format.name == name; });
  if (found == kFormats.end())
    throw Error(ErrorKind::internal, "no image format is called '" + std::string(name) + "'");
  return *found;
}

std::string lower_case_ending(const std::string& path) {
  return lower_case(std::filesystem::path(path).extension().string());
}

const ImageFormat* image_format_named(const std::string& path) {
  const std::string ending = lower_case_ending(path);
  if (ending.empty()) return nullptr;
  for (const ImageFormat& format : kFormats) {
    const std::string endings = " " + std::string(format.endings) + " ";
    if (endings.find(" " + ending + " ") != std::string::npos) return &format;
  }
  return nullptr;
}

bool is_image_name(const std::string& path) {
  const ImageFormat* format = image_format_named(path);
  return format != nullptr && format->readable;
}

bool is_unreadable_image_name(const std::string& path) {
  const ImageFormat* format = image_format_named(path);
  return format != nullptr && !format->readable;
}

std::string readable_image_formats() {
  std::vector<std::string> names;
  for (const ImageFormat& format : kFormats) {
    if (format.readable) names.emplace_back(format.name);
  }
  return listed(names, " or ");
}

std::string text_of(const UnreadableImages& left_out) {
  std::size_t total = 0;
  std::vector<std::string> counts;
  std::string packages;
  for (const auto& [ending, count] : left_out) {
    total += count;
    counts.push_back(std::to_string(count) + " " + ending);
    const ImageFormat* format = image_format_named(ending);
    const std::string package(format == nullptr ? "" : format->package);
    if (!package.empty() && packages.find(package) == std::string::npos) packages += " " + package;
  }
  if (total == 0) return "";
  return std::to_string(total) +
         (total == 1 ? " picture is left out: " : " pictures are left out: ") +
         listed(counts, " and ") + " cannot be read, convert " + (total == 1 ? "it" : "them") +
         " to .jpg or .png" +
         (packages.empty() ? "" : ", or install" + packages + " and build diml again");
}

}  // namespace diml
