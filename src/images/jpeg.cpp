#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it first
#include <cstring>
#include <string>
#include <utility>

#include <jpeglib.h>

#include "decoders.h"
#include "diml/error.h"

namespace diml::images {
namespace {

struct ErrorHandler {
  jpeg_error_mgr manager;  // first: libjpeg knows the handler by this member's address
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

void stop(j_common_ptr info) {
  auto* handler = reinterpret_cast<ErrorHandler*>(info->err);
  (*info->err->format_message)(info, handler->message);
  std::longjmp(handler->back, 1);
}

// A warning is damage that libjpeg paints over (a file that ends early, a bad marker): an error
// here.
void stop_at_damage(j_common_ptr info, int level) {
  if (level < 0) stop(info);
}

void say_nothing(j_common_ptr) {}

constexpr int kExifMarker = JPEG_APP0 + 1;

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

// Ink to light. Adobe's files, which are nearly all there are, store the ink upside down.
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

// libjpeg tells errors by a callback that must not return, and must not be left by an exception: it
// jumps back into run(), whose state is all in members, so that no jump passes an object that would
// have to be destroyed.
class Reader {
 public:
  Reader(Bytes bytes, std::size_t most_pixels) : bytes_(bytes), most_pixels_(most_pixels) {
    info_.err = jpeg_std_error(&handler_.manager);
    handler_.manager.error_exit = stop;
    handler_.manager.emit_message = stop_at_damage;
    handler_.manager.output_message = say_nothing;
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { jpeg_destroy_decompress(&info_); }

  Decoded decode() {
    if (!run([this] { read_header(); })) fail();
    check_size(info_.image_width, info_.image_height, most_pixels_);
    decoded_.orientation = orientation_of(info_);
    if (!run([this] { jpeg_start_decompress(&info_); })) fail();
    const std::size_t width = info_.output_width;
    const std::size_t height = info_.output_height;
    decoded_.image = {width, height, std::vector<std::uint8_t>(width * height * 3)};
    row_.resize(width * 4);
    if (!run([this] { read_pixels(); })) fail();
    return std::move(decoded_);
  }

 private:
  // False when libjpeg stopped the step.
  template <class Step>
  bool run(Step step) {
    if (setjmp(handler_.back) != 0) return false;
    step();
    return true;
  }

  [[noreturn]] void fail() const { throw Error(std::string("damaged JPEG: ") + handler_.message); }

  void read_header() {
    jpeg_create_decompress(&info_);
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
  ErrorHandler handler_{};
  Decoded decoded_;
  std::vector<std::uint8_t> row_;
  bool ink_ = false;
};

}  // namespace

Decoded decode_jpeg(Bytes bytes, std::size_t most_pixels) {
  return Reader(bytes, most_pixels).decode();
}

}  // namespace diml::images
