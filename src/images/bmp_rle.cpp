#include <algorithm>

#include "bmp.h"

namespace diml::images {
namespace {

// Of pairs of bytes the first is a count, or 0: then the second is one of these, or a count of
// pixels that follow one by one.
constexpr std::uint32_t kEndOfRow = 0;
constexpr std::uint32_t kEndOfPicture = 1;
constexpr std::uint32_t kMove = 2;

class RunLengths {
 public:
  RunLengths(ByteReader& file, const BmpHeader& header)
      : file_(file), header_(header), indices_(header.width * header.height) {}

  std::vector<std::uint8_t> read() {
    while (y_ < header_.height) {
      const std::uint32_t count = file_.byte();
      const std::uint32_t value = file_.byte();
      if (count > 0) {
        for (std::uint32_t k = 0; k < count; ++k) put(half(value, k));
      } else if (value == kEndOfRow) {
        x_ = 0;
        ++y_;
      } else if (value == kEndOfPicture) {
        break;
      } else if (value == kMove) {
        x_ += file_.byte();
        y_ += file_.byte();
        if (x_ > header_.width) file_.fail("it moves out of its rows");
      } else {
        read_single(value);
      }
    }
    return std::move(indices_);
  }

 private:
  bool four_bits() const { return header_.compression == kBmpRle4; }

  // With 4 bits a byte has two indices, which take turns.
  std::uint8_t half(std::uint32_t value, std::uint32_t k) const {
    if (!four_bits()) return static_cast<std::uint8_t>(value);
    return static_cast<std::uint8_t>(k % 2 == 0 ? value >> 4 : value & 15);
  }

  void read_single(std::uint32_t count) {
    const std::size_t bytes = four_bits() ? (count + 1) / 2 : count;
    const Bytes values = file_.block(bytes);
    for (std::uint32_t k = 0; k < count; ++k) put(half(values[four_bits() ? k / 2 : k], k));
    if (bytes % 2 == 1) file_.skip(1);
  }

  void put(std::uint8_t index) {
    if (x_ >= header_.width) return;  // some writers pad rows
    indices_[y_ * header_.width + x_] = index;
    ++x_;
  }

  ByteReader& file_;
  const BmpHeader& header_;
  std::vector<std::uint8_t> indices_;
  std::size_t x_ = 0;
  std::size_t y_ = 0;
};

}  // namespace

std::vector<std::uint8_t> bmp_run_lengths(ByteReader& file, const BmpHeader& header) {
  return RunLengths(file, header).read();
}

}  // namespace diml::images
