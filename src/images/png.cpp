#include <csetjmp>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include <png.h>

#include "decoders.h"
#include "diml/error.h"

namespace diml::images {
namespace {

struct Source {
  Bytes bytes;
  std::size_t position = 0;
  char message[256] = "damaged";
};

void read_some(png_structp png, png_bytep out, png_size_t count) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (count > source->bytes.size() - source->position) png_error(png, "it ends early");
  std::memcpy(out, source->bytes.data() + source->position, count);
  source->position += count;
}

void stop(png_structp png, png_const_charp message) {
  auto* source = static_cast<Source*>(png_get_error_ptr(png));
  std::strncpy(source->message, message, sizeof(source->message) - 1);
  png_longjmp(png, 1);
}

void ignore(png_structp, png_const_charp) {}

// Whatever is stored becomes 8-bit RGB.
void ask_for_rgb(png_structp png, png_infop info) {
  const int kind = png_get_color_type(png, info);
  png_set_expand(png);  // palette and 1, 2, 4 bits
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  if (kind == PNG_COLOR_TYPE_GRAY || kind == PNG_COLOR_TYPE_GRAY_ALPHA) png_set_gray_to_rgb(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
}

int orientation_of(png_structp png, png_infop info) {
  png_bytep exif = nullptr;
  png_uint_32 size = 0;
  return png_get_eXIf_1(png, info, &size, &exif) ? exif_orientation({exif, size}) : 1;
}

// As the JPEG reader: libpng's errors jump back into run(), past no object that would have to be
// destroyed.
class Reader {
 public:
  explicit Reader(Bytes bytes) : source_{bytes} {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source_, stop, ignore);
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  Decoded decode(std::size_t most_pixels) {
    if (!info_) throw std::bad_alloc();
    if (!run([this] { read_header(); })) fail();
    const std::size_t width = png_get_image_width(png_, info_);
    const std::size_t height = png_get_image_height(png_, info_);
    check_size(width, height, most_pixels);
    if (!run([this] { ask_for_rgb(png_, info_); })) fail();
    if (png_get_rowbytes(png_, info_) != width * 3)
      throw Error("damaged PNG: its rows have no pixels");
    decoded_.image = {width, height, std::vector<std::uint8_t>(width * height * 3)};
    for (std::size_t y = 0; y < height; ++y) rows_.push_back(decoded_.image.at(0, y));
    if (!run([this] { read_pixels(); })) fail();
    decoded_.orientation = orientation_of(png_, info_);
    return std::move(decoded_);
  }

 private:
  // False when libpng stopped the step.
  template <class Step>
  bool run(Step step) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    step();
    return true;
  }

  [[noreturn]] void fail() const { throw Error(std::string("damaged PNG: ") + source_.message); }

  void read_header() {
    png_set_read_fn(png_, &source_, read_some);
    png_read_info(png_, info_);
  }

  void read_pixels() {
    png_read_image(png_, rows_.data());
    png_read_end(png_, info_);
  }

  Source source_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  Decoded decoded_;
  std::vector<png_bytep> rows_;
};

}  // namespace

Decoded decode_png(Bytes bytes, std::size_t most_pixels) {
  return Reader(bytes).decode(most_pixels);
}

}  // namespace diml::images
