#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <string>

#include <tiffio.h>

#include "decoders.h"
#include "diml/error.h"

namespace diml::images {
namespace {

// Beside the pixels: directories, tables of strips, the state of a decompressor.
constexpr std::size_t kSlack = std::size_t{16} << 20;
constexpr std::size_t kBytesOfAPixel = 8;  // four channels of 16 bits

// Compressions of photos and scans. Others are rare, and the decompressors of some (LZMA,
// Zstandard) allocate what the file asks for, outside of libtiff's limits.
constexpr std::uint16_t kCompressions[] = {
    COMPRESSION_NONE,      COMPRESSION_CCITTRLE, COMPRESSION_CCITTRLEW,  COMPRESSION_CCITTFAX3,
    COMPRESSION_CCITTFAX4, COMPRESSION_LZW,      COMPRESSION_JPEG,       COMPRESSION_ADOBE_DEFLATE,
    COMPRESSION_DEFLATE,   COMPRESSION_PACKBITS, COMPRESSION_THUNDERSCAN};

// What libtiff reads, and what it complains about first.
struct Source {
  Bytes bytes;
  std::size_t position = 0;
  char message[256] = "";
};

tmsize_t read_some(thandle_t handle, void* out, tmsize_t count) {
  auto* source = static_cast<Source*>(handle);
  const std::size_t at = std::min(source->position, source->bytes.size());
  const std::size_t taken = std::min(static_cast<std::size_t>(count), source->bytes.size() - at);
  std::memcpy(out, source->bytes.data() + at, taken);
  source->position = at + taken;
  return static_cast<tmsize_t>(taken);
}

tmsize_t write_nothing(thandle_t, void*, tmsize_t) { return 0; }

toff_t seek(thandle_t handle, toff_t offset, int from) {
  auto* source = static_cast<Source*>(handle);
  const toff_t base = from == SEEK_SET   ? 0
                      : from == SEEK_CUR ? source->position
                                         : source->bytes.size();
  source->position = static_cast<std::size_t>(base + offset);
  return source->position;
}

int close_nothing(thandle_t) { return 0; }

toff_t size_of(thandle_t handle) { return static_cast<Source*>(handle)->bytes.size(); }

int map_file(thandle_t handle, void** base, toff_t* size) {
  auto* source = static_cast<Source*>(handle);
  *base = const_cast<std::uint8_t*>(source->bytes.data());
  *size = source->bytes.size();
  return 1;
}

void unmap_nothing(thandle_t, void*, toff_t) {}

int keep_first_message(TIFF*, void* handle, const char*, const char* format, va_list arguments) {
  auto* source = static_cast<Source*>(handle);
  if (source->message[0] == '\0') {
    std::vsnprintf(source->message, sizeof source->message, format, arguments);
  }
  return 1;  // nothing is printed
}

int ignore(TIFF*, void*, const char*, const char*, va_list) { return 1; }

[[noreturn]] void fail(const Source& source) {
  std::string why = source.message[0] == '\0' ? "it cannot be decoded" : source.message;
  throw Error(ErrorKind::damaged, "damaged TIFF: " + why.substr(0, why.find('\n')));
}

using File = std::unique_ptr<TIFF, decltype(&TIFFClose)>;

// most_bytes: the largest block that libtiff may allocate; most_in_all: all of them together, which
// versions below 4.6.1 do not count. Mapped, so that it copies nothing.
File open(Source& source, std::size_t most_bytes, [[maybe_unused]] std::size_t most_in_all) {
  const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(
      TIFFOpenOptionsAlloc(), TIFFOpenOptionsFree);
  if (!options) throw std::bad_alloc();
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), static_cast<tmsize_t>(most_bytes));
#if TIFFLIB_VERSION >= 20240911
  TIFFOpenOptionsSetMaxCumulatedMemAlloc(options.get(), static_cast<tmsize_t>(most_in_all));
#endif
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_first_message, &source);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignore, nullptr);
  source.position = 0;
  File file(TIFFClientOpenExt("image", "r", &source, read_some, write_nothing, seek, close_nothing,
                              size_of, map_file, unmap_nothing, options.get()),
            TIFFClose);
  if (!file) fail(source);
  return file;
}

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::unsupported, "is " + what + ": convert it to JPEG or PNG");
}

void expect_photo(TIFF* file) {
  std::uint32_t kind = 0;
  TIFFGetFieldDefaulted(file, TIFFTAG_SUBFILETYPE, &kind);
  const void* version = nullptr;
  const void* room = nullptr;  // for a library that passes a count first
  // Raw files of cameras are TIFFs whose first page is a thumbnail.
  if ((kind & FILETYPE_REDUCEDIMAGE) != 0 ||
      TIFFGetField(file, TIFFTAG_DNGVERSION, &version, &room) == 1) {
    refuse("a raw file of a camera, or a TIFF whose first page is a thumbnail");
  }
  std::uint16_t compression = COMPRESSION_NONE;
  TIFFGetFieldDefaulted(file, TIFFTAG_COMPRESSION, &compression);
  if (compression == COMPRESSION_OJPEG) refuse("a TIFF with the withdrawn kind of JPEG in it");
  const auto* end = std::end(kCompressions);
  if (std::find(std::begin(kCompressions), end, compression) == end)
    refuse("a TIFF with compression " + std::to_string(compression));
}

// libtiff multiplies colours by an alpha that is apart from them. Here alpha is dropped and colours
// are as stored, as in the other formats: it is told that they are multiplied already.
void keep_colours(TIFF* file) {
  std::uint16_t count = 0;
  std::uint16_t* kinds = nullptr;
  if (TIFFGetField(file, TIFFTAG_EXTRASAMPLES, &count, &kinds) != 1 || count == 0) return;
  std::vector<std::uint16_t> multiplied(count, EXTRASAMPLE_ASSOCALPHA);
  TIFFSetField(file, TIFFTAG_EXTRASAMPLES, count, multiplied.data());
}

class Converter {
 public:
  explicit Converter(TIFF* file, const Source& source) {
    char why[1024] = "";
    if (TIFFRGBAImageOK(file, why) != 1)
      refuse(std::string("a TIFF of a kind that cannot be read (") + why + ")");
    if (TIFFRGBAImageBegin(&image_, file, /*stop on error*/ 1, why) != 1) fail(source);
    image_.req_orientation = image_.orientation;  // rows as they are stored
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;
  ~Converter() { TIFFRGBAImageEnd(&image_); }

  int orientation() const { return image_.orientation; }
  bool get(std::vector<std::uint32_t>& raster) {
    return TIFFRGBAImageGet(&image_, raster.data(), image_.width, image_.height) == 1;
  }

 private:
  TIFFRGBAImage image_{};
};

}  // namespace

Decoded decode_tiff(Bytes bytes, std::size_t most_pixels) {
  Source source{bytes};
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  {
    const File file = open(source, kSlack, most_memory(0, 0, bytes));
    TIFFGetField(file.get(), TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(file.get(), TIFFTAG_IMAGELENGTH, &height);
    check_size(width, height, most_pixels);
    expect_photo(file.get());
  }
  // Again, now that it is known what its pixels may take.
  const std::size_t pixels = std::size_t{width} * height;
  const File file =
      open(source, pixels * kBytesOfAPixel + kSlack, most_memory(width, height, bytes));
  keep_colours(file.get());
  Converter converter(file.get(), source);
  std::vector<std::uint32_t> raster(pixels);
  if (!converter.get(raster) || source.message[0] != '\0') fail(source);
  Decoded decoded;
  decoded.image = {width, height, std::vector<std::uint8_t>(pixels * 3)};
  for (std::size_t k = 0; k < pixels; ++k) {
    for (std::size_t c = 0; c < 3; ++c) {
      decoded.image.pixels[3 * k + c] = static_cast<std::uint8_t>(raster[k] >> 8 * c);
    }
  }
  decoded.orientation = converter.orientation();
  return decoded;
}

}  // namespace diml::images
