#include <csetjmp>
#include <cstddef>
#include <cstdlib>
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

// What libpng and zlib have allocated, and may.
struct Memory {
  std::size_t most = 0;
  std::size_t taken = 0;
  bool is_over = false;
  bool has_ended = false;  // the system gave none
};

// In front of each block: its size.
constexpr std::size_t kPrefix = alignof(std::max_align_t);

png_voidp allocate(png_structp png, png_alloc_size_t size) {
  auto* memory = static_cast<Memory*>(png_get_mem_ptr(png));
  if (size > memory->most - memory->taken) {
    memory->is_over = true;
    return nullptr;
  }
  auto* block = static_cast<std::byte*>(std::malloc(size + kPrefix));
  if (block == nullptr) {
    memory->has_ended = true;
    return nullptr;
  }
  std::memcpy(block, &size, sizeof size);
  memory->taken += size;
  return block + kPrefix;
}

void release(png_structp png, png_voidp pointer) {
  if (pointer == nullptr) return;
  auto* block = static_cast<std::byte*>(pointer) - kPrefix;
  png_alloc_size_t size = 0;
  std::memcpy(&size, block, sizeof size);
  static_cast<Memory*>(png_get_mem_ptr(png))->taken -= size;
  std::free(block);
}

// Text, profiles, palettes of other programs: nothing here reads them, and libpng unpacks and keeps
// each, a thousand of them at most, of 8 MB each. Animations (APNG) are unknown to it.
void ignore_what_is_no_picture(png_structp png) {
  constexpr png_byte kIgnored[] =
      "tEXt\0zTXt\0iTXt\0iCCP\0sPLT\0hIST\0pCAL\0sCAL\0sBIT\0tIME\0pHYs\0"
      "oFFs\0bKGD\0cHRM\0sRGB\0gAMA";
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, kIgnored, sizeof kIgnored / 5);
  png_set_chunk_cache_max(png, 8);
  png_set_chunk_malloc_max(png, 8'000'000);  // one block of EXIF; longer chunks are errors
}

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

// Converts every stored format to 8-bit RGB.
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

// As in the JPEG reader: on an error libpng jumps back into run(), and the jump must not skip the
// destructor of any object.
class Reader {
 public:
  explicit Reader(Bytes bytes) : source_{bytes} {
    memory_.most = most_memory(0, 0, bytes);
    png_ = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &source_, stop, ignore, &memory_,
                                    allocate, release);
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
    memory_.most = most_memory(width, height, source_.bytes);
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

  [[noreturn]] void fail() const {
    if (memory_.is_over) refuse_memory("PNG");
    if (memory_.has_ended) throw std::bad_alloc();
    throw Error(std::string("damaged PNG: ") + source_.message);
  }

  void read_header() {
    png_set_read_fn(png_, &source_, read_some);
    ignore_what_is_no_picture(png_);
    png_read_info(png_, info_);
  }

  void read_pixels() {
    png_read_image(png_, rows_.data());
    png_read_end(png_, info_);
  }

  Source source_;
  Memory memory_;
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
