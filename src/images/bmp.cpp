#include "bmp.h"

#include <algorithm>
#include <bit>

namespace diml::images {
namespace {

constexpr std::size_t kFileHeader = 14;
constexpr std::uint32_t kOldHeader = 12;  // OS/2's, with 16-bit sizes
constexpr std::uint32_t kHeader = 40;     // Windows's; longer ones begin like it

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::unsupported,
              "is a BMP with " + what + ", which cannot be read: convert it to JPEG or PNG");
}

void expect_known(const ByteReader& file, const BmpHeader& header) {
  const std::uint32_t bits = header.bits;
  const std::uint32_t kind = header.compression;
  if (kind == kBmpPlain) {
    for (const std::uint32_t known : {1u, 2u, 4u, 8u, 16u, 24u, 32u}) {
      if (bits == known) return;
    }
    refuse(std::to_string(bits) + " bits per pixel");
  }
  if (kind == kBmpRle8 || kind == kBmpRle4) {
    if (bits != (kind == kBmpRle8 ? 8 : 4)) file.fail("its compression does not fit its pixels");
    if (header.from_top) file.fail("it is compressed from the top");
    return;
  }
  if (kind != kBmpMasks && kind != kBmpMasksAndAlpha) {
    refuse("compression " + std::to_string(kind));
  }
  if (bits != 16 && bits != 32) refuse("masks and " + std::to_string(bits) + " bits per pixel");
}

// The masks follow a header of 40 bytes; longer headers contain them.
void read_masks(ByteReader& file, BmpHeader& header) {
  if (header.compression == kBmpMasks || header.compression == kBmpMasksAndAlpha) {
    for (std::uint32_t& mask : header.masks) mask = file.four();
  } else if (header.bits == 16) {
    std::copy_n(std::array{0x7c00u, 0x03e0u, 0x001fu}.begin(), 3, header.masks);
  } else if (header.bits == 32) {
    std::copy_n(std::array{0xff0000u, 0xff00u, 0xffu}.begin(), 3, header.masks);
  }
}

// Afterwards the reader stands at the palette.
BmpHeader read_header(ByteReader& file) {
  file.go_to(kFileHeader);
  const std::uint32_t size = file.four();
  BmpHeader header;
  if (size == kOldHeader) {
    header.width = file.two();
    header.height = file.two();
    header.bytes_of_a_colour = 3;
  } else {
    if (size < kHeader) refuse("a header of " + std::to_string(size) + " bytes");
    header.width = file.four();
    const std::uint32_t height = file.four();
    header.from_top = height >> 31 != 0;
    header.height = header.from_top ? 0 - height : height;
    if (header.width >> 31 != 0) file.fail("its width is negative");
  }
  file.skip(2);  // planes
  header.bits = file.two();
  std::uint32_t colours = 0;
  if (size >= kHeader) {
    header.compression = file.four();
    file.skip(12);  // size of the pixels, resolution
    colours = file.four();
    file.skip(4);  // important colours
  }
  expect_known(file, header);
  read_masks(file, header);
  file.go_to(std::max(file.position(), kFileHeader + size));
  if (header.bits <= 8) {
    const std::uint32_t most = 1u << header.bits;
    header.colours = colours == 0 ? most : std::min(colours, most);
  }
  return header;
}

// A channel's value, spread over 0 to 255 and rounded down, as Pillow does.
std::uint8_t channel(std::uint32_t pixel, std::uint32_t mask) {
  if (mask == 0) return 0;
  const int shift = std::countr_zero(mask);
  const std::uint64_t most = mask >> shift;
  return static_cast<std::uint8_t>(std::uint64_t{(pixel & mask) >> shift} * 255 / most);
}

class Painter {
 public:
  Painter(ByteReader& file, const BmpHeader& header) : header_(header) {
    const Bytes colours = file.block(std::size_t{header.colours} * header.bytes_of_a_colour);
    for (std::size_t k = 0; k < header.colours; ++k) {
      const Bytes colour = colours.subspan(k * header.bytes_of_a_colour, 3);
      palette_[k] = {colour[2], colour[1], colour[0]};
    }
  }

  // index: of the palette. One that the palette lacks is black.
  void paint(std::uint32_t index, std::uint8_t* rgb) const {
    std::copy_n(palette_[index].begin(), 3, rgb);
  }

  void paint_row(Bytes row, std::uint8_t* rgb) const {
    for (std::size_t x = 0; x < header_.width; ++x, rgb += 3) {
      switch (header_.bits) {
        case 16:
          paint_masked(row[2 * x] | std::uint32_t{row[2 * x + 1]} << 8, rgb);
          break;
        case 24:
          for (std::size_t c = 0; c < 3; ++c) rgb[c] = row[3 * x + 2 - c];
          break;
        case 32:
          paint_masked(row[4 * x] | std::uint32_t{row[4 * x + 1]} << 8 |
                           std::uint32_t{row[4 * x + 2]} << 16 |
                           std::uint32_t{row[4 * x + 3]} << 24,
                       rgb);
          break;
        default: {
          const std::size_t bit = x * header_.bits;
          const std::uint32_t above = 8 - header_.bits - static_cast<std::uint32_t>(bit % 8);
          paint(row[bit / 8] >> above & ((1u << header_.bits) - 1), rgb);
        }
      }
    }
  }

 private:
  void paint_masked(std::uint32_t pixel, std::uint8_t* rgb) const {
    for (std::size_t c = 0; c < 3; ++c) rgb[c] = channel(pixel, header_.masks[c]);
  }

  const BmpHeader& header_;
  std::array<std::array<std::uint8_t, 3>, 256> palette_{};
};

}  // namespace

Decoded decode_bmp(Bytes bytes, std::size_t most_pixels) {
  ByteReader file(bytes, "BMP");
  file.go_to(10);
  const std::uint32_t start = file.four();
  const BmpHeader header = read_header(file);
  check_size(header.width, header.height, most_pixels);
  const Painter painter(file, header);
  file.go_to(start);
  const std::size_t row_bytes = (header.width * header.bits + 31) / 32 * 4;
  const bool runs = header.compression == kBmpRle8 || header.compression == kBmpRle4;
  // Before anything is allocated: the file must have the pixels that it claims.
  if (!runs && header.height > file.left() / row_bytes) file.fail("it ends early");
  Decoded decoded;
  decoded.image = {header.width, header.height,
                   std::vector<std::uint8_t>(header.width * header.height * 3)};
  const std::vector<std::uint8_t> indices =
      runs ? bmp_run_lengths(file, header) : std::vector<std::uint8_t>();
  for (std::size_t y = 0; y < header.height; ++y) {
    std::uint8_t* rgb = decoded.image.at(0, header.from_top ? y : header.height - 1 - y);
    if (!runs) {
      painter.paint_row(file.block(row_bytes), rgb);
      continue;
    }
    for (std::size_t x = 0; x < header.width; ++x) {
      painter.paint(indices[y * header.width + x], rgb + 3 * x);
    }
  }
  return decoded;
}

}  // namespace diml::images
