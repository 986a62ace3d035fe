// Small files that ask for much memory. Each is decoded in a process that has little: it is
// refused, or read without what is no picture.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs it first
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <jpeglib.h>

#include "base/image_names.h"
#include "base/limited_memory.h"
#include "diml/error.h"
#include "diml/image.h"
#include "images/png_file.h"
#include "images/ppm.h"

namespace diml {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kLittle = std::size_t{100} << 20;  // bytes

Bytes golden_bytes(const std::string& name) {
  std::ifstream file(test::golden(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int k = 0; k < bytes; ++k) text += static_cast<char>(value >> 8 * k & 0xff);
  return text;
}

Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

// "": it was read within the memory.
std::string stopped(const Bytes& file, std::size_t memory = kLittle) {
  return test::stopped_within(memory, [&] { decode_image(file); });
}

void expect_refused(const Bytes& file, const std::string& why) {
  EXPECT_LT(file.size(), std::size_t{1} << 20);
  const std::string said = stopped(file);
  EXPECT_NE(said.find(why), std::string::npos) << said;
}

class Bomb : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::kMemoryCanBeLimited) GTEST_SKIP() << "memory cannot be limited under this sanitizer";
  }
};

// A chunk of a name, a zero, the kind of compression and zeros: 7 MB of them.
std::string packed(const std::string& name, const std::string& between) {
  static const std::string zeros = test::PngFile::deflated(std::string(7'000'000, '\0'));
  return name + between + zeros;
}

test::PngFile small_png() { return test::PngFile(2, 1, 8, 0); }

TEST_F(Bomb, PngOfTexts) {
  test::PngFile file = small_png();
  for (int k = 0; k < 40; ++k) {
    file.add("zTXt", packed("Comment", std::string(2, '\0')));
    file.add("iTXt", packed("Comment", std::string("\0\1\0\0\0", 5)));
  }
  EXPECT_EQ(stopped(file.add_zero_rows(3).bytes()), "");
}

TEST_F(Bomb, PngOfTextsBehindThePicture) {
  test::PngFile file = small_png();
  file.add_zero_rows(3);
  for (int k = 0; k < 40; ++k) file.add("zTXt", packed("Comment", std::string(2, '\0')));
  EXPECT_EQ(stopped(file.bytes()), "");
}

TEST_F(Bomb, PngOfProfilesAndPalettes) {
  test::PngFile file = small_png();
  file.add("iCCP", packed("profile", std::string(2, '\0')));
  for (int k = 0; k < 40; ++k) {
    file.add("sPLT", "palette " + std::to_string(k) + std::string(1, '\0') + "\x08" +
                         std::string(6 * 10'000, '\0'));
  }
  EXPECT_EQ(stopped(file.add_zero_rows(3).bytes()), "");
}

TEST_F(Bomb, PngOfManyFrames) {
  test::PngFile file = small_png();
  using test::PngFile;
  file.add("acTL", PngFile::four(1000) + PngFile::four(0)).add_zero_rows(3);
  for (std::uint32_t k = 0; k < 1000; ++k) {
    file.add("fdAT", PngFile::four(k) + PngFile::deflated(std::string(100'000, '\0')));
  }
  EXPECT_EQ(stopped(file.bytes()), "");
}

TEST_F(Bomb, PngWithALongBlockOfExif) {
  test::PngFile file = small_png();
  for (int k = 0; k < 100; ++k) file.add("eXIf", "II" + std::string(9'000, '\0'));
  EXPECT_EQ(stopped(file.add_zero_rows(3).bytes()), "");
}

// A grey square, progressive, all coefficients zero, with blocks of APP<number> that begin so.
Bytes progressive(JDIMENSION side, int blocks = 0, int number = 1,
                  const std::string& begin = std::string("Exif\0\0", 6)) {
  const jpeg_scan_info scans[] = {{1, {0, 0, 0, 0}, 0, 0, 0, 0}, {1, {0, 0, 0, 0}, 1, 63, 0, 0}};
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // libjpeg's type
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = info.image_height = side;
  info.input_components = 1;
  info.in_color_space = JCS_GRAYSCALE;
  jpeg_set_defaults(&info);
  info.scan_info = scans;
  info.num_scans = 2;
  jpeg_start_compress(&info, TRUE);
  const std::string block = begin + std::string(60'000, 'x');
  for (int k = 0; k < blocks; ++k) {
    jpeg_write_marker(&info, JPEG_APP0 + number, reinterpret_cast<const JOCTET*>(block.data()),
                      static_cast<unsigned>(block.size()));
  }
  std::vector<JSAMPLE> row(side, 128);
  JSAMPROW rows = row.data();
  while (info.next_scanline < info.image_height) jpeg_write_scanlines(&info, &rows, 1);
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  Bytes file(bytes, bytes + size);
  std::free(bytes);
  return file;
}

// The size in the header of a frame, SOF2: every scan of it would be kept in memory.
Bytes with_size(Bytes file, int width, int height) {
  for (std::size_t at = 2; at + 9 < file.size(); ++at) {
    if (file[at] != 0xff || file[at + 1] != 0xc2) continue;
    const int sides[] = {height, width};
    for (std::size_t k = 0; k < 2; ++k) {
      file[at + 5 + 2 * k] = static_cast<std::uint8_t>(sides[k] >> 8);
      file[at + 6 + 2 * k] = static_cast<std::uint8_t>(sides[k]);
    }
    return file;
  }
  return file;
}

TEST_F(Bomb, ProgressiveJpeg) {
  const Bytes small = progressive(16);
  expect_refused(with_size(small, 65'000, 65'000), "has 65000 x 65000 pixels");
  // What a picture of so many pixels may take: 16 bytes for each, and 32 MiB.
  const Bytes large = progressive(1500);
  EXPECT_LT(large.size(), 100'000U);
  EXPECT_EQ(stopped(large, 16 * 1500 * 1500 + (std::size_t{40} << 20)), "");
}

TEST_F(Bomb, JpegOfManyBlocksOfExif) { EXPECT_EQ(stopped(progressive(16, 500)), ""); }

TEST_F(Bomb, JpegOfManyProfiles) {
  const std::string profile("ICC_PROFILE\0\1\xff", 14);
  EXPECT_EQ(stopped(progressive(16, 500, 2, profile)), "");
}

std::string webp_of(const std::string& chunks) {
  return "RIFF" + little(4 + chunks.size(), 4) + "WEBP" + chunks;
}

// Of a canvas with 24 bits a side, and flags.
std::string extended(std::uint32_t width, std::uint32_t height, std::uint8_t flags) {
  return "VP8X" + little(10, 4) + static_cast<char>(flags) + std::string(3, '\0') +
         little(width - 1, 3) + little(height - 1, 3);
}

TEST_F(Bomb, WebP) {
  if (!DIML_HAS_WEBP) GTEST_SKIP() << "built without WebP: no test here reads such a file";
  // Lossless: a signature, 14 bits a side, 4 more.
  const std::string header = "\x2f" + little(0x0fffffffU, 4);
  expect_refused(bytes_of(webp_of("VP8L" + little(header.size() + 1, 4) + header + "x")),
                 "has 16384 x 16384 pixels");
  // An animation of many frames on a large canvas.
  std::string frames;
  for (int k = 0; k < 1000; ++k) {
    frames +=
        "ANMF" + little(16, 4) + little(0, 6) + little(3999, 3) + little(3999, 3) + little(10, 4);
  }
  const std::string loop = "ANIM" + little(6, 4) + std::string(6, '\0');
  expect_refused(bytes_of(webp_of(extended(4000, 4000, 2) + loop + frames)), "animated WebP");
  // A frame in it that is larger than its canvas.
  expect_refused(
      bytes_of(webp_of(extended(16, 16, 0) + "VP8L" + little(header.size() + 1, 4) + header + "x")),
      "damaged WebP");
}

// Chunks that are no picture are passed over, however long they are.
TEST_F(Bomb, WebPWithAProfileAndExif) {
  if (!DIML_HAS_WEBP) GTEST_SKIP() << "built without WebP: no test here reads such a file";
  const Bytes plain = golden_bytes("lossless.webp");
  const Image picture = decode_image(plain);
  const auto chunk = [](const char* name, std::size_t bytes) {
    return name + little(bytes, 4) + std::string(bytes, 'x');
  };
  const std::string file =
      webp_of(extended(static_cast<std::uint32_t>(picture.width),
                       static_cast<std::uint32_t>(picture.height), 0x28) +
              chunk("ICCP", 20'000'000) + std::string(plain.begin() + 12, plain.end()) +
              chunk("EXIF", 20'000'000));
  EXPECT_EQ(stopped(bytes_of(file)), "");
}

TEST_F(Bomb, Gif) {
  const std::string frame = "," + little(0, 4) + little(65'000, 2) + little(65'000, 2) +
                            std::string(1, '\0') + "\x02" + std::string(1, '\0') + ";";
  expect_refused(
      bytes_of("GIF89a" + little(65'000, 2) + little(65'000, 2) + std::string(3, '\0') + frame),
      "has 65000 x 65000 pixels");
  // A screen of a few pixels, and a frame beyond it.
  expect_refused(bytes_of("GIF89a" + little(2, 2) + little(2, 2) + std::string(3, '\0') + frame),
                 "has 65000 x 65000 pixels");
}

TEST_F(Bomb, Bmp) {
  const auto bmp = [](std::uint32_t side, std::uint16_t bits, std::uint32_t compression) {
    return bytes_of("BM" + little(0, 8) + little(54, 4) + little(40, 4) + little(side, 4) +
                    little(side, 4) + little(1, 2) + little(bits, 2) + little(compression, 4) +
                    std::string(20, '\0') + "xx");
  };
  expect_refused(bmp(1'000'000'000, 24, 0), "pixels, more than the");
  expect_refused(bmp(10'000, 24, 0), "damaged BMP: it ends early");
  expect_refused(bmp(60'000, 8, 1), "has 60000 x 60000 pixels");
}

// A TIFF of entries (tag, type, value) that fit into the directory.
Bytes tiff(const std::vector<std::array<std::uint32_t, 3>>& entries, const std::string& rest) {
  std::string file = "II" + little(42, 2) + little(8, 4) + little(entries.size(), 2);
  for (const auto& [tag, type, value] : entries) {
    file += little(tag, 2) + little(type, 2) + little(1, 4) + little(value, 4);
  }
  return bytes_of(file + little(0, 4) + rest);
}

TEST_F(Bomb, Tiff) {
  if (!is_image_name("a.tif")) GTEST_SKIP() << "built without TIFF: no test here reads such a file";
  constexpr std::uint32_t kShort = 3;
  constexpr std::uint32_t kLong = 4;
  const auto of = [](std::uint32_t side, std::uint32_t compression) {
    return std::vector<std::array<std::uint32_t, 3>>{{256, kLong, side}, {257, kLong, side},
                                                     {258, kShort, 8},   {259, kShort, compression},
                                                     {262, kShort, 1},   {277, kShort, 1}};
  };
  const auto strips = [&](std::uint32_t side, std::uint32_t compression) {
    auto entries = of(side, compression);
    entries.insert(entries.end(), {{273, kLong, 200}, {278, kLong, side}, {279, kLong, 100}});
    std::sort(entries.begin(), entries.end());
    return entries;
  };
  const std::string nothing(1000, '\0');
  expect_refused(tiff(strips(100'000, 1), nothing), "has 100000 x 100000 pixels");
  // Tiles that are far larger than the picture.
  auto tiles = of(16, 1);
  for (const std::uint32_t tag : {322U, 323U}) tiles.push_back({tag, kLong, 1U << 20});
  tiles.push_back({324, kLong, 200});
  tiles.push_back({325, kLong, 100});
  expect_refused(tiff(tiles, nothing), "TIFF");
  // A profile that is longer than the file (tag 34675), and EXIF that points to itself (34665).
  for (const std::array<std::uint32_t, 3>& more :
       {std::array{34675U, 7U, 200U}, std::array{34665U, kLong, 8U}}) {
    auto entries = strips(16, 1);
    entries.push_back(more);
    Bytes file = tiff(entries, nothing);
    const std::string count = little(0x60000000, 4);
    if (more[0] == 34675U) std::copy(count.begin(), count.end(), file.begin() + 10 + 12 * 9 + 4);
    const std::string said = stopped(file);
    EXPECT_TRUE(said.empty() || said.find("TIFF") != std::string::npos) << said;
  }
  // Decompressors whose memory the file chooses.
  for (const std::uint32_t compression : {34925U, 50000U, 34887U, 50001U, 34661U}) {
    expect_refused(tiff(strips(16, compression), nothing),
                   "a TIFF with compression " + std::to_string(compression));
  }
}

TEST_F(Bomb, HeicAndAvif) {
  for (const char* name : {"lossless.heic", "lossless.avif"}) {
    if (!is_image_name(name)) GTEST_SKIP() << "built without " << name;
    Bytes file = golden_bytes(name);
    // The box of the picture's size: "ispe", version and flags, width, height.
    const std::string box = "ispe";
    const auto at = std::search(file.begin(), file.end(), box.begin(), box.end());
    ASSERT_NE(at, file.end());
    const std::string size = std::string(2, '\0') + "\xea\x60" + std::string(2, '\0') + "\xea\x60";
    std::copy(size.begin(), size.end(), at + 8);
    const std::string said = stopped(file, 3 * kLittle);  // with the libraries that it loads
    EXPECT_TRUE(said.find("60000 x 60000") != std::string::npos ||
                said.find("damaged") != std::string::npos ||
                said.find("exceeds the maximum") != std::string::npos)
        << name << ": " << said;
  }
}

}  // namespace
}  // namespace diml
