#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <zlib.h>

namespace diml::test {

// A PNG, chunk by chunk: also one that no program writes.
class PngFile {
 public:
  // depth: bits of a channel; kind: 0 grey, 2 RGB, 3 palette.
  PngFile(std::uint32_t width, std::uint32_t height, std::uint8_t depth = 8,
          std::uint8_t kind = 0) {
    std::string header = four(width) + four(height);
    for (const std::uint8_t value :
         {depth, kind, std::uint8_t{0}, std::uint8_t{0}, std::uint8_t{0}})
      header += static_cast<char>(value);
    add("IHDR", header);
  }

  PngFile& add(const std::string& name, const std::string& data) {
    const std::string named = name + data;
    const uLong sum =
        ::crc32(0, reinterpret_cast<const Bytef*>(named.data()), static_cast<uInt>(named.size()));
    bytes_ += four(static_cast<std::uint32_t>(data.size())) + named +
              four(static_cast<std::uint32_t>(sum));
    return *this;
  }

  // bytes: of all rows, each with its filter byte; all are zero.
  PngFile& add_zero_rows(std::size_t bytes) {
    return add("IDAT", deflated(std::string(bytes, '\0')));
  }

  std::string text() { return add("IEND", "").bytes_; }
  std::vector<std::uint8_t> bytes() {
    const std::string whole = text();
    return {whole.begin(), whole.end()};
  }

  static std::string four(std::uint32_t value) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xff);
    return text;
  }

  static std::string deflated(const std::string& data) {
    uLongf size = ::compressBound(static_cast<uLong>(data.size()));
    std::string out(size, '\0');
    ::compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                reinterpret_cast<const Bytef*>(data.data()), static_cast<uLong>(data.size()), 9);
    out.resize(size);
    return out;
  }

 private:
  std::string bytes_ = "\x89PNG\r\n\x1a\n";
};

}  // namespace diml::test
