#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include <libheif/heif.h>

#include "decoders.h"
#include "diml/error.h"

namespace diml::images {
namespace {

template <auto free>
struct Free {
  template <class T>
  void operator()(T* thing) const {
    free(thing);
  }
};
using Context = std::unique_ptr<heif_context, Free<heif_context_free>>;
using Handle = std::unique_ptr<heif_image_handle, Free<heif_image_handle_release>>;
using Options = std::unique_ptr<heif_decoding_options, Free<heif_decoding_options_free>>;
using Picture = std::unique_ptr<heif_image, Free<heif_image_release>>;

// name: HEIC or AVIF.
void expect_well(const heif_error& error, const std::string& name) {
  if (error.code == heif_error_Ok) return;
  std::string why = error.message == nullptr ? "it cannot be decoded" : error.message;
  why = why.substr(0, why.find('\n'));
  if (error.code == heif_error_Memory_allocation_error)
    throw Error(ErrorKind::out_of_resources, name + ": " + why + ": make it smaller");
  if (error.code == heif_error_Unsupported_feature ||
      error.code == heif_error_Unsupported_filetype) {
    // The decoders may be plugins of libheif, which are packages of their own.
    throw Error(ErrorKind::unsupported,
                "is " + std::string(image_format(name).a_name) + " that libheif cannot decode (" +
                    why + "): install " +
                    (name == "AVIF" ? "libheif-plugin-dav1d" : "libheif-plugin-libde265") +
                    " where there is such a package, or convert it to JPEG or PNG");
  }
  throw Error(ErrorKind::damaged, "damaged " + name + ": " + why);
}

void start_libheif() {
  static const heif_error started = heif_init(nullptr);  // loads its plugins, once
  if (started.code != heif_error_Ok)
    throw Error(ErrorKind::unsupported, std::string("libheif: ") + started.message);
}

// The limit of libheif's own buffers, in pixels of a side: room for panoramas of 16 to 1 and for
// blocks of 64 pixels that small pictures are padded to. check_size() counts the pixels.
int most_side(std::size_t most_pixels) {
  const double side = 4.0 * std::sqrt(static_cast<double>(most_pixels));
  return static_cast<int>(std::clamp(side, 256.0, 32768.0));
}

// From libheif 1.19 on also the blocks that it allocates, of pixels and of everything else.
void limit(heif_context* context, std::size_t most_pixels, [[maybe_unused]] Bytes file) {
  heif_context_set_maximum_image_size_limit(context, most_side(most_pixels));
#if LIBHEIF_NUMERIC_VERSION >= ((1 << 24) | (19 << 16))
  heif_security_limits* limits = heif_context_get_security_limits(context);
  constexpr std::size_t kPadded = 65'536;  // small pictures have blocks of 64 x 64
  limits->max_image_size_pixels = std::max(2 * most_pixels, kPadded);
  limits->max_color_profile_size = 1U << 24;
  limits->max_memory_block_size = most_memory(most_pixels, 1, file);
#endif
}

}  // namespace

Decoded decode_heif(Bytes bytes, std::size_t most_pixels) {
  start_libheif();
  const std::string name(format_of(bytes)->name);
  const Context context(heif_context_alloc());
  if (!context) throw std::bad_alloc();
  limit(context.get(), most_pixels, bytes);
  heif_context_set_max_decoding_threads(context.get(), 0);  // many photos are decoded at a time
  expect_well(heif_context_read_from_memory_without_copy(context.get(), bytes.data(), bytes.size(),
                                                         nullptr),
              name);
  heif_image_handle* found = nullptr;
  expect_well(heif_context_get_primary_image_handle(context.get(), &found), name);
  const Handle handle(found);
  const auto size = [](int side) { return static_cast<std::size_t>(side < 0 ? 0 : side); };
  check_size(size(heif_image_handle_get_width(found)), size(heif_image_handle_get_height(found)),
             most_pixels);
  const Options options(heif_decoding_options_alloc());
  if (!options) throw std::bad_alloc();
  options->convert_hdr_to_8bit = 1;
  options->strict_decoding = 1;
  heif_image* made = nullptr;
  expect_well(heif_decode_image(found, &made, heif_colorspace_RGB, heif_chroma_interleaved_RGB,
                                options.get()),
              name);
  const Picture picture(made);
  const std::size_t width = size(heif_image_get_width(made, heif_channel_interleaved));
  const std::size_t height = size(heif_image_get_height(made, heif_channel_interleaved));
  check_size(width, height, most_pixels);
  int stride = 0;
  const std::uint8_t* pixels =
      heif_image_get_plane_readonly(made, heif_channel_interleaved, &stride);
  if (pixels == nullptr || size(stride) < width * 3)
    throw Error(ErrorKind::damaged, "damaged " + name + ": it has no pixels");
  // Rotations are part of these formats, and done: their EXIF tag only repeats them.
  Decoded decoded;
  decoded.image = {width, height, std::vector<std::uint8_t>(width * height * 3)};
  for (std::size_t y = 0; y < height; ++y) {
    std::memcpy(decoded.image.at(0, y), pixels + y * size(stride), width * 3);
  }
  return decoded;
}

}  // namespace diml::images
