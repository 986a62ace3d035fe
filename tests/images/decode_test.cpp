// Against Pillow: files made by tools/make_image_golden.py.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>

#include <gtest/gtest.h>

#include "base/image_names.h"
#include "base/temporary_folder.h"
#include "diml/error.h"
#include "diml/image.h"
#include "images/ppm.h"

namespace diml {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(const std::string& name) {
  std::ifstream file(test::golden(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool readable(const std::string& name) { return is_image_name(name); }

const std::vector<std::string>& stored_files() {
  static const std::vector<std::string> names = {
      "420.jpg",         "444.jpg",        "progressive.jpg", "grey.jpg",        "cmyk.jpg",
      "rgb.png",         "rgba.png",       "grey.png",        "palette.png",     "one_bit.png",
      "deep.png",        "grey_alpha.png", "lossless.webp",   "lossy.webp",      "alpha.webp",
      "rgb.bmp",         "grey.bmp",       "palette.bmp",     "one_bit.bmp",     "bits_15.bmp",
      "bits_565.bmp",    "from_top.bmp",   "runs.bmp",        "runs_4.bmp",      "palette.gif",
      "interlaced.gif",  "straight.gif",   "grey.gif",        "transparent.gif", "animated.gif",
      "small_frame.gif", "rgb.tif",        "deflate.tif",     "lzw.tif",         "packbits.tif",
      "jpeg.tif",        "rgba.tif",       "grey.tif",        "palette.tif",     "one_bit.tif",
      "cmyk.tif",        "pages.tif",      "deep.tif",        "lossless.heic",   "lossless.avif",
      "turned.heic"};
  return names;
}

// Only conversions of CMYK, of 16 bits and of libheif's planes may round differently.
int allowed_difference(const std::string& name) {
  const std::string ending = lower_case_ending(name);
  const bool rounds = name.starts_with("cmyk.") || name == "deep.tif" || ending == ".heic";
  return rounds || ending == ".avif" ? 1 : 0;
}

TEST(DecodeImage, ReadsWhatPillowReads) {
  for (const std::string& name : stored_files()) {
    if (!readable(name)) continue;
    const Image image = read_image(test::golden(name));
    EXPECT_LE(test::largest_difference(image, test::read_ppm(test::golden(name + ".ppm"))),
              allowed_difference(name))
        << name;
  }
}

TEST(DecodeImage, ReadsWebp) {
  if (!DIML_HAS_WEBP) GTEST_SKIP() << "built without WebP: no test here reads such a file";
  EXPECT_EQ(test::largest_difference(read_image(test::golden("lossless.webp")),
                                     test::read_ppm(test::golden("lossless.webp.ppm"))),
            0);
}

TEST(DecodeImage, TellsFormatsByContentNotByName) {
  const test::TemporaryFolder folder;
  const std::string disguised = folder / "disguised.jpg";
  std::filesystem::copy_file(test::golden("rgb.png"), disguised);
  EXPECT_EQ(
      test::largest_difference(read_image(disguised), test::read_ppm(test::golden("rgb.png.ppm"))),
      0);
}

std::string reason_of(const std::string& path) {
  try {
    read_image(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "was read";
}

TEST(DecodeImage, NamesAFileForWhatItIsWhereItCannotBeRead) {
  const test::TemporaryFolder folder;
  const auto reason = [&](const std::string& name, const Bytes& bytes) {
    const std::string path = folder / name;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return reason_of(path).substr(path.size() + 2);
  };
  const auto text = [](std::string_view words) { return Bytes(words.begin(), words.end()); };
  Bytes cut = bytes_of("palette.gif");
  cut.resize(cut.size() / 2);
  EXPECT_TRUE(reason("cut.jpg", cut).starts_with("is a GIF, named .jpg: damaged GIF: "));
  EXPECT_TRUE(reason("cut.gif", cut).starts_with("damaged GIF: "));
  EXPECT_EQ(reason("page.jpg", text("<!DOCTYPE html><html><body>404</body></html>")),
            "is a web page (HTML), which cannot be read: convert it to JPEG or PNG");
  EXPECT_TRUE(reason("new.jpg", text("\xff\x0a and more")).starts_with("is a JPEG XL, which"));
  EXPECT_TRUE(reason("doc.png", text("%PDF-1.7 and more")).starts_with("is a PDF, which"));
  EXPECT_TRUE(reason("words.jpg", text("BM is how this text begins")).starts_with("is not a JPEG"));
}

TEST(DecodeImage, TurnsPhotosTheWayTheCameraWasHeld) {
  std::vector<std::string> names = {"orientation_6.png", "orientation_6.webp", "orientation_2.tif",
                                    "orientation_3.tif", "orientation_6.tif",  "orientation_7.tif"};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    names.push_back("orientation_" + std::to_string(orientation) + ".jpg");
  }
  for (const std::string& name : names) {
    if (!readable(name)) continue;
    const Image image = read_image(test::golden(name), {.orientation = Orientation::exif});
    EXPECT_EQ(test::largest_difference(image, test::read_ppm(test::golden(name + ".ppm"))), 0)
        << name;
  }
}

TEST(DecodeImage, LeavesBenchmarkImagesAsStored) {
  const Image image = read_image(test::golden("orientation_6.jpg"));
  EXPECT_EQ(image.width, 37u);
  EXPECT_EQ(image.height, 29u);
}

TEST(DecodeImage, RefusesEveryTruncation) {
  for (const std::string& name : stored_files()) {
    if (!readable(name)) continue;
    if (name == "animated.gif" || name == "pages.tif") continue;  // the first picture stays whole
    const Bytes whole = bytes_of(name);
    for (const double share : {0.0, 0.01, 0.1, 0.3, 0.5, 0.8, 0.95}) {
      const Bytes part(
          whole.begin(),
          whole.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(whole.size())));
      EXPECT_THROW(decode_image(part), Error) << name << " cut at " << share;
    }
  }
}

// Damage is reported or tolerated, never a crash; also run under the sanitizers.
TEST(DecodeImage, SurvivesEveryFlippedByte) {
  for (const std::string& name : stored_files()) {
    if (!readable(name)) continue;
    const Bytes whole = bytes_of(name);
    for (std::size_t at = 0; at < whole.size(); at += 1 + whole.size() / 400) {
      Bytes damaged = whole;
      damaged[at] ^= 0xff;
      try {
        const Image image = decode_image(damaged, {.most_pixels = 1'000'000});
        EXPECT_EQ(image.pixels.size(), image.width * image.height * 3);
      } catch (const Error&) {
      }
    }
  }
}

TEST(DecodeImage, RefusesWhatIsNoImage) {
  EXPECT_THROW(decode_image({}), Error);
  EXPECT_THROW(decode_image(Bytes{1, 2, 3}), Error);
  EXPECT_THROW(decode_image(Bytes(1000, 0)), Error);
  EXPECT_THROW(read_image("/no/such/file.jpg"), Error);
  EXPECT_THROW(read_image(std::filesystem::temp_directory_path().string()), Error);
}

TEST(DecodeImage, ReadsPicturesWithLoss) {
  for (const char* name : {"lossy.heic", "lossy.avif"}) {
    if (!readable(name)) continue;
    const Image image = read_image(test::golden(name));
    const Image exact = test::read_ppm(test::golden(std::string(name) + ".ppm"));
    ASSERT_EQ(image.pixels.size(), exact.pixels.size()) << name;
    double difference = 0.0;
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
      difference += std::abs(image.pixels[i] - exact.pixels[i]);
    EXPECT_LT(difference / static_cast<double>(image.pixels.size()), 12.0) << name;
  }
}

TEST(EncodeJpeg, GivesBackNearlyWhatItTook) {
  const Image image =
      resize(read_image(test::golden("rgb.png")), 148, 116);  // smooth, as photos are
  const Image again = decode_image(encode_jpeg(image, 95));
  double difference = 0.0;
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    difference += std::abs(image.pixels[i] - again.pixels[i]);
  EXPECT_LT(difference / static_cast<double>(image.pixels.size()),
            8.0);  // noise and chroma subsampling
  EXPECT_LT(encode_jpeg(image, 20).size(), encode_jpeg(image, 95).size());
  EXPECT_THROW(encode_jpeg({}, 90), Error);
  EXPECT_THROW(encode_jpeg({70000, 1, std::vector<std::uint8_t>(210000)}, 90), Error);
}

TEST(DecodeImage, RefusesMorePixelsThanAllowedBeforeDecodingThem) {
  for (const char* name : {"420.jpg", "rgb.png", "lossy.webp", "rgb.bmp", "runs.bmp", "palette.gif",
                           "deflate.tif", "lossless.heic", "lossless.avif"}) {
    if (!readable(name)) continue;
    EXPECT_NO_THROW(read_image(test::golden(name), {.most_pixels = 37 * 29}));
    try {
      read_image(test::golden(name), {.most_pixels = 37 * 29 - 1});
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("37 x 29"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace diml
