// Every layout of data sets from photos to numbers.

#include <filesystem>
#include <set>

#include "cli/photo_folder.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;
using Integers = std::vector<std::int64_t>;
using Json = nlohmann::json;

class PhotoDatasets : public PhotoFolder {
 protected:
  static Arguments data(const std::string& name, const Arguments& more = {}) {
    Arguments arguments = {"--dataset", name, "--root", "data"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  Arguments embed_data(const std::string& name, const Arguments& more = {}) const {
    Arguments arguments = embed({"--out", "e"});
    const Arguments rest = data(name, more);
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    return arguments;
  }
  using Words = std::vector<std::string>;
  Words words_in(const std::string& name) const {
    const NpyFile file(at(name));
    Words words(file.count());
    file.read_texts(0, words);
    return words;
  }
  // Four classes of two photos each.
  void put_classes() const {
    for (std::size_t i = 0; i < 8; ++i) {
      put_photo(i, "data/" + std::string(1, static_cast<char>('a' + i / 2)) + "/" +
                       std::to_string(i) + ".jpg");
    }
  }
};

TEST_F(PhotoDatasets, FoldersOfClassesAreCarsAndAnybodysPhotos) {
  put_classes();
  for (const char* name : {"cars196", "folder"}) {
    run_well(embed_data(name, {"--split", "test"}));
    if (std::string(name) == "cars196") {
      EXPECT_EQ(integers_in("e.labels.npy"), (Integers{2, 2, 3, 3}));
    } else {
      EXPECT_EQ(words_in("e.labels.npy"), (Words{"c", "c", "d", "d"}));
    }
    EXPECT_EQ(lines_in("e.paths.txt").back(), "data/d/7.jpg") << name;
  }
  EXPECT_EQ(evaluated_photos(data("folder", {"--split", "test"})), evaluated_files("e"));
}

// The zero-shot half is the protocol of benchmarks; half of one's own photos would be left out.
TEST_F(PhotoDatasets, AFolderIsTakenWholeAndWhatASplitLeavesOutIsTold) {
  put_classes();
  put_text("data/a/scan.CR2", "raw");
  put_text("data/c/scan.cr2", "raw");
  put_text("data/a/deep.jxl", "raw");
  const ProgramResult whole = run(embed_data("folder"));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(words_in("e.labels.npy"), (Words{"a", "a", "b", "b", "c", "c", "d", "d"}));
  EXPECT_EQ(whole.err.find("split"), std::string::npos) << whole.err;
  EXPECT_NE(whole.err.find("data: 3 pictures are left out: 2 .cr2 and 1 .jxl cannot be read"),
            std::string::npos)
      << whole.err;
  const ProgramResult half = run(embed_data("folder", {"--split", "test"}));
  EXPECT_NE(half.err.find("data: 4 of 8 images, those of the test split"), std::string::npos)
      << half.err;
  const ProgramResult cars = run(embed_data("cars196"));
  EXPECT_EQ(integers_in("e.labels.npy"), (Integers{2, 2, 3, 3}));
  EXPECT_NE(cars.err.find("data: 4 of 8 images, those of the test split"), std::string::npos)
      << cars.err;
#if DIML_HAS_GALLERY
  Arguments build = {"index", "build", "g", "--model", "small.safetensors"};
  for (const std::string& more : data("cars196")) build.push_back(more);
  EXPECT_NE(run_well(build).find("8 images added"), std::string::npos) << "a gallery takes all";
#endif
}

TEST_F(PhotoDatasets, NestedAndLoosePhotosOfAFolderAreTakenLikeThoseOfASync) {
  put_classes();
  put_photo(8, "data/a/day 1/8.jpg");
  put_photo(9, "data/9.jpg");
  run_well(embed_data("folder"));
  EXPECT_EQ(words_in("e.labels.npy"), (Words{"a", "a", "a", "b", "b", "c", "c", "d", "d", ""}));
  EXPECT_EQ(lines_in("e.paths.txt")[2], "data/a/day 1/8.jpg");
  EXPECT_EQ(evaluated_photos(data("folder")).at("unlabelled"), 1);
  const ProgramResult half = run(embed_data("folder", {"--split", "test"}));
  EXPECT_NE(half.err.find("data: 1 photo is left out: it lies in no folder of a class\n"),
            std::string::npos)
      << half.err;
#if DIML_HAS_GALLERY
  Arguments build = {"index", "build", "g", "--model", "small.safetensors"};
  for (const std::string& more : data("folder")) build.push_back(more);
  EXPECT_NE(run_well(build).find("10 images added"), std::string::npos);
  const Json plan =
      Json::parse(run_well({"index", "sync", "g", "data", "--dry-run", "--json", "-"}));
  EXPECT_EQ(plan.at("added"), 0);
  EXPECT_EQ(plan.at("removed"), 0);
#endif
}

TEST_F(PhotoDatasets, TheListsOfSopAreFollowed) {
  put_classes();
  const std::string heading = "image_id class_id super_class_id path\n";
  put_text("data/Ebay_train.txt", heading + "1 1 1 a/0.jpg\n2 1 1 a/1.jpg\n");
  put_text("data/Ebay_test.txt", heading + "3 7 1 d/7.jpg\n4 7 1 d/6.jpg\n5 9 2 c/4.jpg\n");
  run_well(embed_data("sop"));
  EXPECT_EQ(integers_in("e.labels.npy"), (Integers{1, 1, 2}));
  EXPECT_EQ(lines_in("e.paths.txt").front(), "data/d/7.jpg");
  fs::remove(at("data/d/6.jpg"));
  expect_refused(embed_data("sop"), {"data/d/6.jpg: is missing"});
  put_text("data/Ebay_test.txt", heading + "3 7 d/7.jpg\n");
  expect_refused(embed_data("sop"), {"Ebay_test.txt:2"});
}

TEST_F(PhotoDatasets, QueriesAndGalleriesOfATableAreFollowed) {
  put_classes();
  put_text("data/images.csv",
           "label,path,split,is_query,is_gallery\n"
           "x,a/0.jpg,test,1,0\nx,a/1.jpg,test,0,1\nx,b/2.jpg,test,1,1\n"
           "y,b/3.jpg,test,0,1\ny,c/4.jpg,test,0,0\ny,c/5.jpg,train,1,1\n"
           "y,d/6.jpg,test,1,0\n");
  run_well(embed_data("csv"));
  EXPECT_EQ(integers_in("e.roles.npy"), (Integers{1, 2, 3, 2, 1}));
  EXPECT_EQ(words_in("e.labels.npy"), (Words{"x", "x", "x", "y", "y"}));
  EXPECT_EQ(lines_in("e.paths.txt")[3], "data/b/3.jpg");
  const Json with = evaluated_files("e", {"--roles", "e.roles.npy"});
  EXPECT_EQ(with.at("queries"), 3);
  EXPECT_EQ(with.at("gallery"), 3);
  EXPECT_EQ(evaluated_photos(data("csv")), with);
  EXPECT_NE(evaluated_files("e"), with);
  // If every image is both, no roles are written, and none stay from the last call.
  run_well(embed_data("csv", {"--split", "train"}));
  EXPECT_FALSE(fs::exists(at("e.roles.npy")));
  EXPECT_EQ(lines_in("e.paths.txt"), std::vector<std::string>{"data/c/5.jpg"});
}

TEST_F(PhotoDatasets, NumbersOfATableStayTheNumbersThatTheyAre) {
  put_classes();
  put_text("data/images.csv",
           "label,path\n17,a/0.jpg\n4,a/1.jpg\n,b/2.jpg\n17,b/3.jpg\n-1,c/4.jpg\n");
  run_well(embed_data("csv"));
  EXPECT_EQ(integers_in("e.labels.npy"), (Integers{17, 4, -1, 17, -1}));
}

#if DIML_HAS_GALLERY
TEST_F(PhotoDatasets, AGallerySaysHowManyImagesOfATableAreQueriesAlone) {
  put_classes();
  put_text("data/images.csv",
           "label,path,is_query,is_gallery\nx,a/0.jpg,1,0\nx,a/1.jpg,1,0\nx,b/2.jpg,1,1\n");
  Arguments build = {"index", "build", "g", "--model", "small.safetensors"};
  for (const std::string& more : data("csv")) build.push_back(more);
  const ProgramResult built = run(build);
  EXPECT_NE(built.out.find("1 images added"), std::string::npos) << built.out;
  EXPECT_NE(built.err.find("data: 2 images are only for queries"), std::string::npos) << built.err;
}

TEST_F(PhotoDatasets, AGalleryOfAFolderHasTheFoldersNamesAsLabels) {
  put_classes();
  fs::rename(at("data/b"), at("data/mops \xC3\xA4"));
  Arguments build = {"index", "build", "g", "--model", "small.safetensors"};
  for (const std::string& more : data("folder")) build.push_back(more);
  run_well(build);
  const Json found =
      Json::parse(run_well({"search", "g", "--id", "7", "--top", "7", "--json", "-"}));
  std::set<std::string> labels;
  for (const Json& hit : found.at("queries")[0].at("hits")) labels.insert(hit.at("label"));
  EXPECT_EQ(labels, (std::set<std::string>{"a", "c", "d", "mops \xC3\xA4"}));
  EXPECT_NE(run_well({"search", "g", "--id", "0"}).find("mops \xC3\xA4  /"), std::string::npos);
  run_well({"index", "export", "g", "--out", "x"});
  EXPECT_EQ(words_in("x.labels.npy"),
            (Words{"a", "a", "c", "c", "d", "d", "mops \xC3\xA4", "mops \xC3\xA4"}));
  run_well({"index", "build", "h", "--embeddings", "x"});  // words are taken as they are
  run_well({"index", "export", "h", "--out", "y"});
  EXPECT_EQ(bytes_of(at("x.labels.npy")), bytes_of(at("y.labels.npy")));
}
#endif

TEST_F(PhotoDatasets, WrongTablesAndMissingFilesAreNamed) {
  put_classes();
  put_text("data/images.csv", "label,path,is_query\nx,a/0.jpg,maybe\n");
  expect_refused(embed_data("csv"), {"data/images.csv:2", "maybe"});
  put_text("data/images.csv", "label,path\nx,a/0.jpg\nx,a/none.jpg\n");
  expect_refused(embed_data("csv"), {"data/a/none.jpg: is missing"});
  put_text("data/images.csv", "label,path,is_query,is_gallery\nx,a/0.jpg,0,0\n");
  expect_refused(embed_data("csv"), {"data: no image"});
  expect_refused(embed_data("cub200"), {"images.txt", "--root"});
}

// Photos of data sets are used as stored; other photos are rotated by their EXIF orientation.
TEST_F(PhotoDatasets, OnlyPeoplesOwnPhotosAreTurned) {
  const std::string turned = bytes_of(std::string(DIML_IMAGES) + "/orientation_6.jpg");
  for (const char* name : {"a/1.jpg", "b/1.jpg"}) put_text(std::string("data/") + name, turned);
  run_well(embed_data("cars196", {"--split", "test"}));
  const std::vector<float> stored = floats_in("e.cells.npy");
  run_well(embed_data("folder", {"--split", "test"}));
  const std::vector<float> upright = floats_in("e.cells.npy");
  EXPECT_NE(stored, upright);
  run_well(embed({"--images", "data/b", "--out", "e"}));
  EXPECT_EQ(floats_in("e.cells.npy"), upright);
}

}  // namespace
}  // namespace diml::test
