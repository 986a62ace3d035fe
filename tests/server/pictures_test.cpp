// The photo of an item, from its file: shown where it is the item's own, and never another file.

#include <filesystem>
#include <fstream>

#include "diml/image.h"
#include "server/served_gallery.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;

Image noise(std::size_t width, std::size_t height, unsigned seed) {
  Image image{width, height, std::vector<std::uint8_t>(width * height * 3)};
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      for (std::size_t c = 0; c < 3; ++c) {
        seed = seed * 1664525U + 1013904223U;
        image.at(x, y)[c] = static_cast<std::uint8_t>((x * (c + 1) / 9 + y / 7) % 200 + seed % 40);
      }
    }
  }
  return image;
}

Image decoded(const HttpResult& answer) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(answer->body.data());
  return decode_image({bytes, answer->body.size()});
}

class Pictures : public ServedGallery {
 protected:
  std::string put(const std::string& name, const Image& image) const {
    const std::vector<std::uint8_t> bytes = encode_jpeg(image, 92);
    std::ofstream(folder_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return folder_ / name;
  }

  // An item with this path and the thumbnail of this picture. Returns the address of its photo.
  std::string item(const std::string& path, const std::vector<std::uint8_t>& thumbnail) const {
    const GridView grid = gallery_->snapshot()->grid(3);
    const GridSet copy(set_of({&grid, 1}));
    std::vector<NewItem> items(1);
    items[0].path = path;
    items[0].thumbnail = thumbnail;
    const std::int64_t id = gallery_->add(items, copy.view())[0];
    return "/v1/items/" + std::to_string(id) + "/photo";
  }

  static Image of_file(const std::string& path) { return read_image(path); }

  void expect_thumbnail(const std::string& address) const {
    const HttpResult answer = client().get(address);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->header("Content-Type"), "image/jpeg");
    const std::string small = address.substr(0, address.rfind('/')) + "/thumbnail";
    EXPECT_EQ(answer->header("Content-Location"), small);
    EXPECT_EQ(answer->body, client().get(small)->body);
  }
};

TEST_F(Pictures, AnItemShowsThePhotoOfItsFile) {
  const std::string path = put("large.jpg", noise(800, 500, 1));
  const std::string address = item(path, make_thumbnail(of_file(path)));
  const HttpResult answer = client().get(address);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->header("Content-Type"), "image/jpeg");
  EXPECT_EQ(answer->header("Content-Location"), "");
  EXPECT_EQ(decoded(answer).width, 800u);
  EXPECT_EQ(decoded(answer).height, 500u);
  const HttpHeaders known = {{"If-None-Match", answer->header("ETag")}};
  EXPECT_EQ(client().get(address, known)->status, 304);
  EXPECT_EQ(got("/v1/gallery").at("originals"), true);
}

TEST_F(Pictures, ALargePhotoIsMadeSmallerAndAnOldThumbnailIsKnown) {
  const std::string path = put("wide.jpg", noise(2000, 300, 2));
  const Image shown = decoded(client().get(item(path, make_thumbnail(of_file(path), 160))));
  EXPECT_EQ(shown.width, 1600u);
  EXPECT_EQ(shown.height, 240u);
}

TEST_F(Pictures, AFileThatIsNotTheItemsPhotoIsNotShown) {
  const std::string other = put("other.jpg", noise(400, 300, 3));
  expect_thumbnail(item(other, make_thumbnail(noise(400, 300, 99))));
  // Nearly white pages differ in a few pixels only.
  Image page{400, 300, std::vector<std::uint8_t>(400 * 300 * 3, 255)};
  const std::vector<std::uint8_t> blank = make_thumbnail(page);
  for (std::size_t x = 50; x < 90; ++x) std::fill_n(page.at(x, 40), 3, std::uint8_t{0});
  for (std::size_t x = 50; x < 90; ++x) std::fill_n(page.at(x, 41), 3, std::uint8_t{0});
  expect_thumbnail(item(put("letter.jpg", page), blank));
}

TEST_F(Pictures, AnAddedItemDoesNotOpenTheFileOfItsPath) {
  const std::string secret = put("secret.jpg", noise(400, 300, 4));
  const HttpResult added =
      client().post("/v1/items", {{"image", photo(2), "mine.jpg", "image/jpeg"}, {"path", secret}});
  ASSERT_EQ(added->status, 201) << added->body;
  expect_thumbnail("/v1/items/" + Json::parse(added->body).at("ids")[0].dump() + "/photo");
}

TEST_F(Pictures, WithoutAReadableFileTheThumbnailIsShown) {
  const std::vector<std::uint8_t> small = make_thumbnail(noise(400, 300, 5));
  expect_thumbnail("/v1/items/7/photo");  // critters/7.jpg is not there
  expect_thumbnail(item("/etc/passwd", small));
  expect_thumbnail(item(folder_ / "", small));
  expect_thumbnail(item("/dev/zero", small));
  const std::string path = put("gone.jpg", noise(400, 300, 6));
  const std::string address = item(path, make_thumbnail(of_file(path)));
  EXPECT_EQ(client().get(address)->header("Content-Location"), "");
  put("gone.jpg", noise(400, 300, 7));
  expect_thumbnail(address);  // it has changed
  fs::remove(path);
  expect_thumbnail(address);
  expect_refused(client().get("/v1/items/999/photo"), 404, "there is no item 999");
  expect_refused(client().get(item("without.jpg", {})), 404, "has no thumbnail");
}

TEST_F(Pictures, AServerMayHideTheFiles) {
  const std::string path = put("hidden.jpg", noise(400, 300, 8));
  serve({.originals = Originals::hidden});
  expect_thumbnail(item(path, make_thumbnail(of_file(path))));
  EXPECT_EQ(got("/v1/gallery").at("originals"), false);
}

TEST_F(Pictures, AFileBeyondTheLimitsIsNotRead) {
  const std::string path = put("heavy.jpg", noise(400, 300, 9));
  const std::vector<std::uint8_t> small = make_thumbnail(of_file(path));
  ServerParams params;
  params.limits.photo_bytes = 1000;
  serve(params);
  const std::string address = item(path, small);
  expect_thumbnail(address);
  params.limits.photo_bytes = ServerLimits{}.photo_bytes;
  params.limits.pixels = 399 * 300;
  serve(params);
  expect_thumbnail(address);
}

}  // namespace
}  // namespace diml::test
