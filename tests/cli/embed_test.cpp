#include <algorithm>
#include <filesystem>

#include "cli/photo_folder.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Shape = std::vector<std::size_t>;

class EmbedCommand : public PhotoFolder {
 protected:
  std::vector<std::string> names_of(const std::string& prefix) const {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : files_of(prefix)) names.push_back(name);
    return names;
  }
};

TEST_F(EmbedCommand, WritesCellsGlobalsLabelsAndPaths) {
  const Json said = Json::parse(run_well(embed_critters("e", {"--json", "-"})));
  EXPECT_EQ(said.at("images"), kTest);
  EXPECT_EQ(said.at("bad"), 0);
  EXPECT_EQ(said.at("cells"), 16);
  EXPECT_EQ(said.at("dim"), kDim);
  EXPECT_EQ(names_of("e"),
            (std::vector<std::string>{".cells.npy", ".globals.npy", ".labels.npy", ".paths.txt"}));
  EXPECT_EQ(shape_of("e.cells.npy"), (Shape{kTest, 16, kDim}));
  EXPECT_EQ(shape_of("e.globals.npy"), (Shape{kTest, kDim}));
  EXPECT_EQ(integers_in("e.labels.npy"),
            (std::vector<std::int64_t>{3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5}));
  EXPECT_EQ(lines_in("e.paths.txt"), photos());
}

TEST_F(EmbedCommand, AndEvaluateGiveTheNumbersOfEvaluateAlone) {
  const Arguments data = {"--dataset", "critters", "--root", "critters", "--split", "all"};
  Arguments call = embed({"--out", "e"});
  call.insert(call.end(), data.begin(), data.end());
  run_well(call);
  const Json files = evaluated_files("e", {"--rerank", "0,3,23"});
  EXPECT_EQ(files.at("queries"), 2 * kTest);
  call = {"--rerank", "0,3,23"};
  call.insert(call.end(), data.begin(), data.end());
  EXPECT_EQ(evaluated_photos(call), files);
}

TEST_F(EmbedCommand, TakesFoldersAndListsOfImages) {
  put_photo(2, "mine/b.JPG");
  put_photo(1, "mine/deep/er/a.jpeg");
  put_text("mine/notes.txt", "no image");
  fs::create_directory_symlink("..", at("mine/deep/up"));  // a cycle, which is no error
  run_well(embed({"--images", "mine", "--out", "e"}));
  EXPECT_EQ(lines_in("e.paths.txt"),
            (std::vector<std::string>{"mine/b.JPG", "mine/deep/er/a.jpeg"}));
  EXPECT_EQ(integers_in("e.labels.npy"), (std::vector<std::int64_t>{-1, -1}));
  put_text("list.txt", photos()[2] + "\r\n\n" + photos()[1] + "\n" + photos()[2]);
  run_well(embed({"--images", "list.txt", "--out", "f"}));
  EXPECT_EQ(lines_in("f.paths.txt"),
            (std::vector<std::string>{photos()[2], photos()[1], photos()[2]}));
  run_well(embed({"--images", photos()[2], "--out", "one"}));
  EXPECT_EQ(lines_in("one.paths.txt"), (std::vector<std::string>{photos()[2]}));
  const std::vector<float> from_folder = floats_in("e.cells.npy");
  const std::vector<float> from_list = floats_in("f.cells.npy");
  EXPECT_TRUE(std::equal(from_folder.begin(), from_folder.end(), from_list.begin()));
}

TEST_F(EmbedCommand, ABadImageEndsItByNameAndOnlyItsWorkIsKept) {
  const std::string whole = bytes_of(at(photos()[5]));
  for (const std::string& bytes :
       {whole.substr(0, whole.size() / 2), std::string("no picture at all")}) {
    write_bytes(at(photos()[5]), bytes);
    const ProgramResult result = run(embed_critters("e"));
    EXPECT_NE(result.exit_code, 0);
    for (const std::string& named : {photos()[5], std::string("--skip-bad --resume")}) {
      EXPECT_NE(result.err.find(named), std::string::npos) << result.err;
    }
    EXPECT_FALSE(std::filesystem::exists(at("e.cells.npy")));
    std::filesystem::remove_all(at("e.partial"));
  }
  expect_refused(
      {"evaluate", "--model", "small.safetensors", "--dataset", "critters", "--root", "critters"},
      {photos()[5], "--skip-bad"});
}

TEST_F(EmbedCommand, SkipBadGoesOnAndSaysWhich) {
  run_well(embed_critters("whole"));
  const std::vector<std::string> all = photos();
  write_bytes(at(all[0]), bytes_of(at(all[0])).substr(0, 600));
  write_bytes(at(all[7]), "");
  const ProgramResult result = run(embed_critters("e", {"--skip-bad", "--json", "e.json"}));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err.find("2 of 12 images could not be read and were left out (all of them: "
                            "e.bad.txt):\n"),
            0u)
      << result.err;
  EXPECT_NE(result.err.find("\n  " + all[0] + ": "), std::string::npos);
  EXPECT_NE(result.err.find("\n  " + all[7] + ": is empty\n"), std::string::npos);
  EXPECT_EQ(lines_in("e.bad.txt").size(), 2u);
  EXPECT_EQ(Json::parse(bytes_of(at("e.json"))).at("bad"), 2);
  std::vector<std::string> kept = all;
  kept.erase(kept.begin() + 7);
  kept.erase(kept.begin());
  EXPECT_EQ(lines_in("e.paths.txt"), kept);
  EXPECT_EQ(integers_in("e.labels.npy"), (std::vector<std::int64_t>{3, 3, 3, 4, 4, 4, 5, 5, 5, 5}));
  // The other photos are not affected.
  const std::vector<float> before = floats_in("whole.cells.npy");
  const std::vector<float> after = floats_in("e.cells.npy");
  EXPECT_TRUE(std::equal(after.begin(), after.begin() + 16 * kDim, before.begin() + 16 * kDim));
  EXPECT_EQ(evaluated_photos({"--dataset", "critters", "--root", "critters", "--skip-bad"}),
            evaluated_files("e"));
}

TEST_F(EmbedCommand, OnlyBadImagesAreNothingToWrite) {
  put_text("bad/a.jpg", "");
  put_text("bad/b.jpg", "text");
  const ProgramResult result = run(embed({"--images", "bad", "--out", "e", "--skip-bad"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("diml embed: none of the images could be read: nothing was written\n"),
            std::string::npos)
      << result.err;
  EXPECT_EQ(names_of("e"), std::vector<std::string>{});
}

}  // namespace
}  // namespace diml::test
