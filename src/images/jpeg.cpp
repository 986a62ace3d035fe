#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "decoders.h"
#include "jpeg_errors.h"

namespace diml::images {
namespace {

constexpr int kExifMarker = JPEG_APP0 + 1;

// Progressive files of cameras and the web have about ten scans. A scan takes a few bytes and is
// decoded over the whole image: thousands of them in a small file would take minutes.
constexpr int kMostScans = 100;

void count_scans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMostScans) {
    JpegErrors::stop_because(info, "it has more than 100 scans: save it again");
  }
}

int orientation_of(const jpeg_decompress_struct& info) {
  constexpr std::size_t kHeader = 6;  // "Exif", 0, 0
  for (const jpeg_marker_struct* marker = info.marker_list; marker; marker = marker->next) {
    if (marker->marker == kExifMarker && marker->data_length > kHeader &&
        std::memcmp(marker->data, "Exif\0\0", kHeader) == 0) {
      return exif_orientation({marker->data + kHeader, marker->data_length - kHeader});
    }
  }
  return 1;
}

// CMYK to RGB. Adobe's files, nearly all CMYK files, store inverted values.
void cmyk_to_rgb(const std::uint8_t* cmyk, std::size_t count, bool inverted, std::uint8_t* rgb) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto light = [&](int channel) {
      return inverted ? cmyk[4 * i + channel] : 255 - cmyk[4 * i + channel];
    };
    for (int channel = 0; channel < 3; ++channel) {
      rgb[3 * i + channel] = static_cast<std::uint8_t>((light(channel) * light(3) + 127) / 255);
    }
  }
}

class Reader {
 public:
  Reader(Bytes bytes, std::size_t most_pixels) : bytes_(bytes), most_pixels_(most_pixels) {
    info_.err = errors_.install();
    progress_.progress_monitor = count_scans;
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { jpeg_destroy_decompress(&info_); }

  Decoded decode() {
    errors_.run([this] { read_header(); });
    check_size(info_.image_width, info_.image_height, most_pixels_);
    // libjpeg keeps all coefficients of a progressive file, in files of its own if it could.
    const std::size_t most = most_memory(info_.image_width, info_.image_height, bytes_);
    info_.mem->max_memory_to_use =
        static_cast<long>(std::min<std::size_t>(most, std::numeric_limits<long>::max()));
    decoded_.orientation = orientation_of(info_);
    errors_.run([this] { jpeg_start_decompress(&info_); });
    const std::size_t width = info_.output_width;
    const std::size_t height = info_.output_height;
    decoded_.image = {width, height, std::vector<std::uint8_t>(width * height * 3)};
    row_.resize(width * 4);
    errors_.run([this] { read_pixels(); });
    return std::move(decoded_);
  }

 private:
  void read_header() {
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    jpeg_mem_src(&info_, bytes_.data(), bytes_.size());
    jpeg_save_markers(&info_, kExifMarker, 0xffff);
    jpeg_read_header(&info_, TRUE);
    ink_ = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = ink_ ? JCS_CMYK : JCS_RGB;
  }

  void read_pixels() {
    while (info_.output_scanline < info_.output_height) {
      std::uint8_t* out = decoded_.image.at(0, info_.output_scanline);
      JSAMPROW target = ink_ ? row_.data() : out;
      jpeg_read_scanlines(&info_, &target, 1);
      if (ink_) cmyk_to_rgb(row_.data(), decoded_.image.width, info_.saw_Adobe_marker, out);
    }
    jpeg_finish_decompress(&info_);
  }

  Bytes bytes_;
  std::size_t most_pixels_;
  jpeg_decompress_struct info_{};
  jpeg_progress_mgr progress_{};
  JpegErrors errors_;
  Decoded decoded_;
  std::vector<std::uint8_t> row_;
  bool ink_ = false;
};

}  // namespace

Decoded decode_jpeg(Bytes bytes, std::size_t most_pixels) {
  return Reader(bytes, most_pixels).decode();
}

}  // namespace diml::images
