#include <algorithm>
#include <array>
#include <optional>

#include "byte_reader.h"

namespace diml::images {
namespace {

using Colour = std::array<std::uint8_t, 3>;
using Palette = std::vector<Colour>;

constexpr std::uint32_t kExtension = 0x21;
constexpr std::uint32_t kPicture = 0x2c;
constexpr std::uint32_t kEnd = 0x3b;
constexpr std::uint32_t kGraphicControl = 0xf9;

// Codes of growing length, from the blocks of at most 255 bytes that data is cut into.
class Codes {
 public:
  explicit Codes(ByteReader& file) : file_(file) {}

  std::uint32_t next(std::uint32_t length) {
    while (bits_ < length) {
      if (at_ == block_.size()) {
        const std::uint32_t size = file_.byte();
        if (size == 0) file_.fail("it has fewer pixels than it claims");
        block_ = file_.block(size);
        at_ = 0;
      }
      held_ |= std::uint32_t{block_[at_++]} << bits_;
      bits_ += 8;
    }
    const std::uint32_t code = held_ & ((1u << length) - 1);
    held_ >>= length;
    bits_ -= length;
    return code;
  }

 private:
  ByteReader& file_;
  Bytes block_{};
  std::size_t at_ = 0;
  std::uint32_t held_ = 0;
  std::uint32_t bits_ = 0;
};

// LZW: a code stands for the text of an earlier code and one more index.
class Lzw {
 public:
  // least: bits of an index.
  Lzw(ByteReader& file, std::uint32_t least) : file_(file), codes_(file), least_(least) {
    for (std::uint32_t k = 0; k < clear(); ++k) last_[k] = static_cast<std::uint8_t>(k);
    reset();
  }

  // One index after the other.
  std::uint8_t next() {
    while (text_.empty()) read_code();
    const std::uint8_t index = text_.back();
    text_.pop_back();
    return index;
  }

 private:
  static constexpr std::uint32_t kMostCodes = 4096;
  static constexpr std::uint32_t kNone = kMostCodes;

  std::uint32_t clear() const { return 1u << least_; }

  void reset() {
    used_ = clear() + 2;
    length_ = least_ + 1;
    before_ = kNone;
  }

  void read_code() {
    const std::uint32_t code = codes_.next(length_);
    if (code == clear()) {
      reset();
      return;
    }
    if (code == clear() + 1) file_.fail("it has fewer pixels than it claims");
    const bool unknown = code >= used_;  // the code that this step makes
    if (unknown && (code > used_ || before_ == kNone || used_ == kMostCodes))
      file_.fail("one of its codes is invalid");
    std::uint32_t part = unknown ? before_ : code;
    if (unknown) text_.push_back(0);  // the first index of the text, which is known below
    for (; part >= clear() + 2; part = prefix_[part]) text_.push_back(last_[part]);
    text_.push_back(last_[part]);
    if (unknown) text_.front() = text_.back();
    if (before_ != kNone && used_ < kMostCodes) {
      prefix_[used_] = static_cast<std::uint16_t>(before_);
      last_[used_] = text_.back();
      ++used_;
      if (used_ == 1u << length_ && length_ < 12) ++length_;
    }
    before_ = code;
  }

  ByteReader& file_;
  Codes codes_;
  std::uint32_t least_;
  std::uint32_t used_ = 0;
  std::uint32_t length_ = 0;
  std::uint32_t before_ = kNone;
  std::array<std::uint16_t, kMostCodes> prefix_{};
  std::array<std::uint8_t, kMostCodes> last_{};
  std::vector<std::uint8_t> text_;  // of the last code, from its end
};

Palette read_palette(ByteReader& file, std::uint32_t flags) {
  Palette palette(flags & 0x80 ? std::size_t{2} << (flags & 7) : 0);
  for (Colour& colour : palette) std::copy_n(file.block(3).begin(), 3, colour.begin());
  return palette;
}

void skip_blocks(ByteReader& file) {
  while (const std::uint32_t size = file.byte()) file.skip(size);
}

// The index that is transparent, if the extension tells one.
void read_extension(ByteReader& file, std::optional<std::uint8_t>& transparent) {
  if (file.byte() == kGraphicControl) {
    const std::uint32_t size = file.byte();
    const Bytes block = file.block(size);
    if (size >= 4 && (block[0] & 1) != 0) transparent = block[3];
    if (size == 0) return;
  }
  skip_blocks(file);
}

// The rows of a picture in the order in which they are stored.
std::vector<std::size_t> stored_rows(std::size_t height, bool interlaced) {
  std::vector<std::size_t> rows;
  const auto add = [&](std::size_t first, std::size_t step) {
    for (std::size_t y = first; y < height; y += step) rows.push_back(y);
  };
  if (!interlaced) {
    add(0, 1);
  } else {
    add(0, 8);
    add(4, 8);
    add(2, 4);
    add(1, 2);
  }
  return rows;
}

}  // namespace

Decoded decode_gif(Bytes bytes, std::size_t most_pixels) {
  ByteReader file(bytes, "GIF");
  file.skip(6);
  std::size_t width = file.two();
  std::size_t height = file.two();
  const std::uint32_t screen_flags = file.byte();
  file.skip(2);  // background, proportion of pixels
  Palette palette = read_palette(file, screen_flags);
  std::optional<std::uint8_t> transparent;
  for (std::uint32_t kind = file.byte(); kind != kPicture; kind = file.byte()) {
    if (kind == kEnd) file.fail("it has no picture in it");
    if (kind != kExtension) file.fail("a block is of no known kind");
    read_extension(file, transparent);
  }
  const std::size_t left = file.two();
  const std::size_t top = file.two();
  const std::size_t frame_width = file.two();
  const std::size_t frame_height = file.two();
  const std::uint32_t flags = file.byte();
  if (flags & 0x80) palette = read_palette(file, flags);
  const std::uint32_t least = file.byte();
  if (least < 1 || least > 8) file.fail("its codes have no length");
  // The frame may be smaller than the screen and, in some files, reach beyond it.
  width = std::max(width, left + frame_width);
  height = std::max(height, top + frame_height);
  check_size(width, height, most_pixels);
  const auto colour = [&](std::uint8_t index) -> Colour {
    if (index < palette.size()) return palette[index];
    return palette.empty() ? Colour{index, index, index} : Colour{};
  };
  Decoded decoded;
  decoded.image = {width, height, std::vector<std::uint8_t>(width * height * 3)};
  // Outside of the frame: the transparent colour, or the first, as Pillow shows it.
  const Colour around = colour(transparent.value_or(0));
  for (std::size_t k = 0; k < width * height; ++k) {
    std::copy_n(around.begin(), 3, &decoded.image.pixels[3 * k]);
  }
  Lzw indices(file, least);
  for (const std::size_t y : stored_rows(frame_height, (flags & 0x40) != 0)) {
    for (std::size_t x = 0; x < frame_width; ++x) {
      std::copy_n(colour(indices.next()).begin(), 3, decoded.image.at(left + x, top + y));
    }
  }
  return decoded;
}

}  // namespace diml::images
