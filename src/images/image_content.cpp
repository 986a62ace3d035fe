#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "base/lower_case.h"
#include "decoders.h"

namespace diml::images {
namespace {

using namespace std::string_view_literals;

struct Beginning {
  std::string_view bytes;
  const char* format;
};

constexpr std::array kBeginnings = {
    Beginning{"\xff\xd8\xff"sv, "JPEG"},
    Beginning{"\x89PNG\r\n\x1a\n"sv, "PNG"},
    Beginning{"GIF87a"sv, "GIF"},
    Beginning{"GIF89a"sv, "GIF"},
    Beginning{"II*\0\x10\0\0\0CR"sv, "camera raw"},
    Beginning{"II*\0"sv, "TIFF"},
    Beginning{"MM\0*"sv, "TIFF"},
    Beginning{"II+\0"sv, "TIFF"},  // with 64-bit offsets
    Beginning{"MM\0+"sv, "TIFF"},
    Beginning{"\xff\x0a"sv, "JPEG XL"},
    Beginning{"\0\0\0\x0cJXL "sv, "JPEG XL"},
    Beginning{"\0\0\0\x0cjP  "sv, "JPEG 2000"},
    Beginning{"\xff\x4f\xff\x51"sv, "JPEG 2000"},
    Beginning{"FUJIFILMCCD-RAW"sv, "camera raw"},
    Beginning{"IIU\0"sv, "camera raw"},
    Beginning{"IIRO"sv, "camera raw"},
    Beginning{"IIRS"sv, "camera raw"},
    Beginning{"8BPS"sv, "Photoshop"},
    Beginning{"\0\0\1\0"sv, "icon"},
    Beginning{"%PDF-"sv, "PDF"},
};

std::string_view text_of(Bytes bytes, std::size_t at, std::size_t most) {
  if (at >= bytes.size()) return {};
  return {reinterpret_cast<const char*>(bytes.data()) + at, std::min(most, bytes.size() - at)};
}

// Two letters are not enough to tell a bitmap from a text: the size of its header follows.
bool is_bmp(Bytes bytes) {
  if (!text_of(bytes, 0, 2).starts_with("BM") || bytes.size() < 18) return false;
  const unsigned header = bytes[14] | unsigned{bytes[15]} << 8;
  return header >= 12 && header <= 124 && bytes[16] == 0 && bytes[17] == 0;
}

bool is_pnm(std::string_view text) {
  return text.size() > 2 && text[0] == 'P' && text[1] >= '1' && text[1] <= '7' &&
         std::isspace(static_cast<unsigned char>(text[2])) != 0;
}

// The family of MP4: the first box lists the brands that the file conforms to.
const char* format_of_brands(Bytes bytes) {
  if (text_of(bytes, 4, 4) != "ftyp") return nullptr;
  constexpr std::size_t kMostBrands = 64;
  const std::size_t size = std::size_t{bytes[0]} << 24 | std::size_t{bytes[1]} << 16 |
                           std::size_t{bytes[2]} << 8 | bytes[3];
  const std::size_t end = std::min({size, bytes.size(), 16 + 4 * kMostBrands});
  const auto has = [&](std::string_view brand) {
    for (std::size_t at = 8; at + 4 <= end; at += at == 8 ? 8 : 4) {  // 12: a version
      if (text_of(bytes, at, 4) == brand) return true;
    }
    return false;
  };
  if (has("avif") || has("avis")) return "AVIF";
  for (const char* brand : {"heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"}) {
    if (has(brand)) return "HEIC";
  }
  return has("crx ") ? "camera raw" : "video";
}

const char* format_of_text(Bytes bytes) {
  constexpr std::size_t kLooked = 1024;
  const std::string text = lower_case(text_of(bytes, 0, kLooked));
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string::npos || text[first] != '<') return nullptr;
  if (text.find("<svg") != std::string::npos) return "SVG";
  if (text.find("<html") != std::string::npos || text.find("<!doctype html") != std::string::npos) {
    return "HTML";
  }
  return nullptr;
}

}  // namespace

const ImageFormat* format_of(Bytes bytes) {
  const std::string_view start = text_of(bytes, 0, 16);
  for (const Beginning& beginning : kBeginnings) {
    if (start.starts_with(beginning.bytes)) return &image_format(beginning.format);
  }
  if (start.starts_with("RIFF") && text_of(bytes, 8, 4) == "WEBP") return &image_format("WebP");
  if (is_bmp(bytes)) return &image_format("BMP");
  if (is_pnm(start)) return &image_format("PNM");
  const char* name = format_of_brands(bytes);
  if (name == nullptr) name = format_of_text(bytes);
  return name == nullptr ? nullptr : &image_format(name);
}

}  // namespace diml::images
