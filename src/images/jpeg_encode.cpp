#include <cstdlib>

#include "diml/error.h"
#include "diml/image.h"
#include "jpeg_errors.h"

namespace diml {
namespace {

class Writer {
 public:
  Writer() { info_.err = errors_.install(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    jpeg_destroy_compress(&info_);
    std::free(buffer_);
  }

  std::vector<std::uint8_t> encode(const Image& image, int quality) {
    errors_.run([&] { write(image, quality); });
    return {buffer_, buffer_ + size_};
  }

 private:
  void write(const Image& image, int quality) {
    jpeg_create_compress(&info_);
    jpeg_mem_dest(&info_, &buffer_, &size_);
    info_.image_width = static_cast<JDIMENSION>(image.width);
    info_.image_height = static_cast<JDIMENSION>(image.height);
    info_.input_components = 3;
    info_.in_color_space = JCS_RGB;
    jpeg_set_defaults(&info_);
    jpeg_set_quality(&info_, quality, TRUE);
    jpeg_start_compress(&info_, TRUE);
    while (info_.next_scanline < info_.image_height) {
      JSAMPROW row = const_cast<std::uint8_t*>(image.at(0, info_.next_scanline));
      jpeg_write_scanlines(&info_, &row, 1);
    }
    jpeg_finish_compress(&info_);
  }

  jpeg_compress_struct info_{};
  images::JpegErrors errors_;
  unsigned char* buffer_ = nullptr;
  unsigned long size_ = 0;
};

}  // namespace

std::vector<std::uint8_t> encode_jpeg(const Image& image, int quality) {
  constexpr std::size_t kLargest = JPEG_MAX_DIMENSION;
  if (image.pixels.empty() || image.width > kLargest || image.height > kLargest) {
    throw Error("a JPEG has 1 to " + std::to_string(kLargest) + " pixels a side");
  }
  return Writer().encode(image, quality);
}

}  // namespace diml
