// Progressive JPEGs that no camera writes: made by libjpeg itself, which takes any list of scans.
#include <cstdint>
#include <cstdio>  // jpeglib.h needs it first
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <jpeglib.h>

#include "diml/error.h"
#include "diml/image.h"

namespace diml {
namespace {

// A grey square, each coefficient in a scan of its own and `bits` more that refine it.
std::vector<std::uint8_t> progressive(int coefficients, int bits) {
  std::vector<jpeg_scan_info> scans;
  const auto add = [&scans](int first, int last, int high, int low) {
    scans.push_back({1, {0, 0, 0, 0}, first, last, high, low});
  };
  add(0, 0, 0, 0);
  for (int k = 1; k <= coefficients; ++k) {
    const int last = k == coefficients ? 63 : k;
    add(k, last, 0, bits);
    for (int low = bits; low > 0; --low) add(k, last, low, low - 1);
  }
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // libjpeg's type
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = info.image_height = 16;
  info.input_components = 1;
  info.in_color_space = JCS_GRAYSCALE;
  jpeg_set_defaults(&info);
  info.scan_info = scans.data();
  info.num_scans = static_cast<int>(scans.size());
  jpeg_start_compress(&info, TRUE);
  std::vector<JSAMPLE> row(16, 77);
  JSAMPROW rows = row.data();
  while (info.next_scanline < info.image_height) jpeg_write_scanlines(&info, &rows, 1);
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const std::vector<std::uint8_t> file(bytes, bytes + size);
  std::free(bytes);
  return file;
}

TEST(DecodeImage, ReadsAFileOfManyScans) {
  const Image image = decode_image(progressive(33, 2));  // 100 of them
  EXPECT_EQ(image.width, 16u);
  EXPECT_NEAR(image.at(7, 7)[0], 77, 2);
}

TEST(DecodeImage, RefusesMoreScansThanAnyoneNeeds) {
  try {
    decode_image(progressive(63, 5));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("more than 100 scans"), std::string::npos);
  }
}

}  // namespace
}  // namespace diml
