// Galleries of photos: from image files to hits.

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/photo_folder.h"
#include "diml/gallery.h"
#include "diml/image.h"
#include "models/model.h"

namespace diml::test {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

class PhotoGallery : public PhotoFolder {
 protected:
  static Arguments build(const Arguments& more = {}) {
    Arguments arguments = {"index",     "build",    "g",      "--model",  "small.safetensors",
                           "--dataset", "critters", "--root", "critters", "--split",
                           "test"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  Json json_of(Arguments arguments) const {
    arguments.insert(arguments.end(), {"--json", "-"});
    return Json::parse(run_well(arguments));
  }
  std::string place_of(const std::string& name) const {
    return fs::absolute(at(name)).lexically_normal().string();
  }
};

TEST_F(PhotoGallery, APhotoOfItFindsItself) {
  EXPECT_EQ(json_of(build()).at("added"), kTest);
  for (const std::string& photo : photos()) {
    const Json found = json_of({"search", "g", photo, "--top", "3"});
    const Json& hits = found.at("queries")[0].at("hits");
    ASSERT_EQ(hits.size(), 3u);
    EXPECT_EQ(fs::canonical(hits[0].at("path").get<std::string>()), fs::canonical(at(photo)));
    EXPECT_NEAR(hits[0].at("global").get<double>(), 1.0, 1e-4);
    // As `index sync` calls it.
    EXPECT_EQ(hits[0].at("label"), fs::path(photo).parent_path().filename().string());
  }
}

TEST_F(PhotoGallery, HoldsTheGridsThatEmbedWrites) {
  run_well(build({"--type", "float32"}));
  run_well(embed_critters("e"));
  run_well({"index", "export", "g", "--out", "x"});
  EXPECT_EQ(floats_in("x.cells.npy").size(), kTest * 16 * kDim);
  const std::vector<float> stored = floats_in("x.cells.npy");
  const std::vector<float> embedded = floats_in("e.cells.npy");
  ASSERT_EQ(stored.size(), embedded.size());
  for (std::size_t k = 0; k < stored.size(); ++k) ASSERT_NEAR(stored[k], embedded[k], 1e-6);
  // Files of a benchmark have its numbers, galleries the names of its classes.
  EXPECT_EQ(integers_in("e.labels.npy"),
            (std::vector<std::int64_t>{3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5}));
  const NpyFile labels(at("x.labels.npy"));
  std::vector<std::string> words(labels.count());
  labels.read_texts(0, words);
  EXPECT_EQ(words.front(), "004.Critter");
  EXPECT_EQ(words.back(), "006.Critter");
}

TEST_F(PhotoGallery, IsSearchedByItsOwnModelAlone) {
  run_well(build({"--grid", "3", "--pooling", "roi_align", "--crop", "48"}));
  const Json info = json_of({"index", "info", "g"});
  EXPECT_EQ(info.at("embedding").at("grid"), "3");
  EXPECT_EQ(info.at("embedding").at("crop"), "48");
  EXPECT_EQ(info.at("embedding").at("pooling"), "roi_align");
  const std::string photo = photos()[0];
  run_well({"search", "g", photo});  // grid, pooling and crop come from the gallery
  save_model(at("other.safetensors"), make_model("small", StridePlace::in_3x3, kDim, 2));
  expect_refused({"search", "g", photo, "--model", "other.safetensors"},
                 {"the gallery was embedded by a model with SHA-256", "--model",
                  place_of("small.safetensors")});
  expect_refused({"index", "add", "g", "--images", "critters", "--model", "other.safetensors"},
                 {"the gallery was embedded by a model with SHA-256"});
  fs::rename(at("small.safetensors"), at("moved.safetensors"));
  expect_refused({"search", "g", photo}, {"small.safetensors", "--model names its file"});
  run_well({"search", "g", photo, "--model", "moved.safetensors"});
  run_well({"search", "g", "--id", "2"});  // no model is needed for what is there
}

TEST_F(PhotoGallery, EmbeddedFilesCanBeSaidToBeOfAModel) {
  run_well(embed_critters("e"));
  run_well({"index", "build", "g", "--embeddings", "e", "--model", "small.safetensors"});
  const std::string photo = photos()[5];
  EXPECT_EQ(json_of({"search", "g", photo, "--top", "1"}).at("queries")[0].at("hits")[0].at("path"),
            lines_in("e.paths.txt")[5]);
  expect_refused(
      {"index", "build", "h", "--embeddings", "e", "--model", "small.safetensors", "--grid", "2"},
      {"e: holds grids of 4 x 4 x 16, the model gives 2 x 2 x 16"});
  expect_refused({"index", "add", "g", "--embeddings", "e"}, {"add --model to say"});
  EXPECT_EQ(json_of({"index", "add", "g", "--embeddings", "e", "--model", "small.safetensors"})
                .at("known"),
            kTest);
}

TEST_F(PhotoGallery, AddsMoreAndSkipsWhatIsThere) {
  run_well(build());
  const Json done = json_of({"index", "add", "g", "--images", "critters"});
  EXPECT_EQ(done.at("added"), kTest);  // the training half
  EXPECT_EQ(done.at("known"), kTest);
  const std::string photo = photos()[0];
  put_text("m.jsonl", "{\"path\": \"" + photo + "\", \"metadata\": {\"seen\": \"today\"}}\n");
  put_text("list.txt", photo + "\n" + photo + "\n");
  const Json again =
      json_of({"index", "add", "g", "--images", "list.txt", "--replace", "--metadata", "m.jsonl"});
  EXPECT_EQ(again.at("added"), 1);
  EXPECT_EQ(again.at("replaced"), 1);
  EXPECT_EQ(again.at("known"), 1);
  EXPECT_EQ(again.at("items"), 2 * kTest);
  EXPECT_EQ(json_of({"search", "g", photo, "--top", "1"})
                .at("queries")[0]
                .at("hits")[0]
                .at("metadata")
                .at("seen"),
            "today");
  EXPECT_EQ(run_well({"index", "remove", "g", "--paths", photo}), "1 removed, 23 left in g\n");
  run_well({"index", "verify", "g"});
}

TEST_F(PhotoGallery, ThumbnailsAreSmallPictures) {
  Image large{400, 300, std::vector<std::uint8_t>(400 * 300 * 3, 90)};
  const std::vector<std::uint8_t> bytes = encode_jpeg(large, 90);
  put_text("photos/large.jpg", std::string(bytes.begin(), bytes.end()));
  run_well({"index", "build", "g", "--model", "small.safetensors", "--images", "photos"});
  const Image thumbnail = decode_image(open_gallery(at("g"))->snapshot()->thumbnail(0));
  EXPECT_EQ(thumbnail.width, 320u);
  EXPECT_EQ(thumbnail.height, 240u);
}

TEST_F(PhotoGallery, AContactSheetHasAllInOneFile) {
  run_well(build());
  fs::create_directory(at("odd"));
  put_photo(0, "odd/<i>&\".jpg");
  run_well({"search", "g", "odd/<i>&\".jpg", photos()[1], "--html", "page.html", "--top", "4"});
  const std::string page = bytes_of(at("page.html"));
  std::size_t pictures = 0;
  for (std::size_t at = 0;
       (at = page.find("src=\"data:image/jpeg;base64,", at)) != std::string::npos; ++at) {
    ++pictures;
  }
  EXPECT_EQ(pictures, 2u * (1 + 4));
  EXPECT_EQ(page.find("://"), std::string::npos);  // nothing is fetched
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(page.find("<i>&"), std::string::npos);
  EXPECT_NE(page.find(">odd/&lt;i&gt;&amp;&quot;.jpg<"), std::string::npos);
  // Hits have short names; the whole path shows under the pointer.
  const std::string path = fs::path(photos()[1]);
  const std::string name = fs::path(path).parent_path().filename() / fs::path(path).filename();
  EXPECT_NE(page.find("title=\"" + path + "\">" + name + "<"), std::string::npos);
  EXPECT_NE(page.find("color-scheme: light dark"), std::string::npos);
}

TEST_F(PhotoGallery, BadImagesStopItOrAreLeftOut) {
  put_text("photos/a.jpg", "no picture");
  put_photo(0, "photos/b.jpg");
  const Arguments arguments = {"index",    "build", "g", "--model", "small.safetensors",
                               "--images", "photos"};
  expect_refused(arguments, {"photos/a.jpg", "--skip-bad"});  // and no gallery is left behind
  Arguments skipping = arguments;
  skipping.insert(skipping.end(), {"--skip-bad", "--json", "-"});
  const ProgramResult result = run(skipping);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.err.find("1 of 2 images could not be read"), std::string::npos) << result.err;
  EXPECT_EQ(Json::parse(result.out).at("added"), 1);
  EXPECT_EQ(Json::parse(result.out).at("bad"), 1);
}

TEST_F(PhotoGallery, RefusesWrongCallsInOneLine) {
  expect_refused({"index", "build", "g", "--images", "critters"}, {"images need --model"});
  expect_refused({"index", "build", "g", "--model", "small.safetensors"}, {"--images DIR"});
  expect_refused(build({"--type", "int8"}), {"int8"});
  run_well(build());
  expect_refused({"search", "g", "none.jpg"}, {"none.jpg"});
}

}  // namespace
}  // namespace diml::test
