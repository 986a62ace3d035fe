// The remedies that errors print work as they are printed, and finished work is kept.

#include "cli/remedy.h"
#include "cli/photo_folder.h"

namespace diml::test {
namespace {

using Json = nlohmann::json;

// photos/: forty pictures, of which the last, or an early one, cannot be read.
class Remedy : public PhotoFolder {
 protected:
  static constexpr std::size_t kGood = 39;

  void put_photos(std::size_t bad) const {
    for (std::size_t i = 0; i <= kGood; ++i) {
      const std::string name = "photos/" + std::to_string(i % 2) + "/" + std::to_string(100 + i);
      if (i == bad) {
        put_text(name + ".jpg", "no picture");
      } else {
        put_photo(i % kTest, name + ".jpg");
      }
    }
  }
  // One line, then the same command with what it advises.
  std::string expect_remedy(const Arguments& command, const std::string& remedy) const {
    const ProgramResult failed = run(command);
    EXPECT_EQ(failed.exit_code, 1) << failed.err;
    EXPECT_EQ(failed.err.find('\n'), failed.err.size() - 1) << failed.err;
    EXPECT_NE(failed.err.find("(" + remedy), std::string::npos) << failed.err;
    const ProgramResult again = run(with_remedy(command, failed.err));
    EXPECT_EQ(again.exit_code, 0) << failed.err << again.err;
    EXPECT_NE(again.err.find("1 of "), std::string::npos) << again.err;
    EXPECT_NE(again.err.find("could not be read"), std::string::npos) << again.err;
    return again.out;
  }
  static Arguments of_model(Arguments command, const Arguments& more) {
    command.insert(command.end(), {"--model", "small.safetensors"});
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
};

const Arguments kPhotos = {"--dataset", "folder", "--root", "photos"};

TEST_F(Remedy, OfEmbedGoesOnAfterTheLastPhotoFailed) {
  put_photos(kGood);
  const Arguments command = embed({"--images", "photos", "--out", "e", "--json", "-"});
  const Json done = Json::parse(expect_remedy(command, "--skip-bad --resume"));
  EXPECT_EQ(done.at("images"), kGood);
  EXPECT_EQ(done.at("bad"), 1);
  EXPECT_EQ(done.at("embedded"), 0);  // in this call: all were done before
}

TEST_F(Remedy, OfEmbedSkipsAnEarlyOne) {
  put_photos(0);
  const Arguments command = embed({"--images", "photos", "--out", "e", "--json", "-"});
  EXPECT_EQ(Json::parse(expect_remedy(command, "--skip-bad skips it")).at("images"), kGood);
}

TEST_F(Remedy, OfEvaluateSkipsIt) {
  put_photos(kGood);
  const Json done = Json::parse(
      expect_remedy(of_model({"evaluate", "--json", "-"}, kPhotos), "--skip-bad skips it"));
  EXPECT_EQ(done.at("queries"), kGood);
}

TEST_F(Remedy, OfABuildGoesOnAfterTheLastPhotoFailed) {
  put_photos(kGood);
  const Arguments command = of_model({"index", "build", "g", "--json", "-"}, kPhotos);
  const Json done = Json::parse(expect_remedy(command, "--skip-bad --resume"));
  EXPECT_EQ(done.at("items"), kGood);
  EXPECT_EQ(done.at("known"), kGood);  // none of them was embedded again
  EXPECT_EQ(done.at("added"), 0);
}

TEST_F(Remedy, OfABuildSkipsAnEarlyOne) {
  put_photos(0);
  const Arguments command = of_model({"index", "build", "g", "--json", "-"}, kPhotos);
  EXPECT_EQ(Json::parse(expect_remedy(command, "--skip-bad skips it")).at("added"), kGood);
}

TEST_F(Remedy, OfAnAddGoesOn) {
  put_photos(kGood);
  run_well(of_model({"index", "build", "g"}, {"--images", "critters"}));
  Arguments command = {"index", "add", "g", "--json", "-"};
  command.insert(command.end(), kPhotos.begin(), kPhotos.end());
  const Json done = Json::parse(expect_remedy(command, "--skip-bad skips it"));
  EXPECT_EQ(done.at("known"), kGood);
  EXPECT_EQ(done.at("added"), 0);
}

TEST_F(Remedy, OfASyncSkipsIt) {
  put_photos(kGood);
  run_well(of_model({"index", "build", "g"}, {"--images", "critters"}));
  const Json done =
      Json::parse(expect_remedy({"index", "sync", "g", "photos", "--json", "-"}, "--skip-bad"));
  EXPECT_EQ(done.at("bad"), 1);
  EXPECT_EQ(done.at("items"), 24 + kGood);
  // What the failed call had embedded is not embedded again.
  EXPECT_LT(done.at("added"), kGood);
}

TEST_F(Remedy, OfASyncThatWouldRemoveMostRemovesIt) {
  put_photos(kGood + 1);
  run_well(of_model({"index", "build", "g"}, kPhotos));
  std::filesystem::remove_all(at("photos/0"));
  std::filesystem::remove_all(at("photos/1/"));
  std::filesystem::create_directories(at("photos"));
  const Arguments command = {"index", "sync", "g", "photos", "--json", "-"};
  const ProgramResult failed = run(command);
  EXPECT_NE(failed.err.find("(--force"), std::string::npos) << failed.err;
  const ProgramResult again = run(with_remedy(command, failed.err));
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(Json::parse(again.out).at("items"), 0);
}

TEST_F(Remedy, OfASearchSkipsTheQuery) {
  put_photos(kGood);
  run_well(of_model({"index", "build", "g"}, {"--images", "critters"}));
  const Json done = Json::parse(
      expect_remedy({"search", "g", "photos", "--top", "1", "--json", "-"}, "--skip-bad skips it"));
  EXPECT_EQ(done.at("queries").size(), kGood);
  EXPECT_EQ(done.at("skipped"), 1);
}

TEST_F(Remedy, OfACalibrationSkipsIt) {
  put_photos(kGood);
  const Arguments command = of_model({"calibrate", "--split", "all", "--grids", "2", "--lambdas",
                                      "0.05", "--depths", "2", "--folds", "2", "--json", "-"},
                                     kPhotos);
  EXPECT_EQ(Json::parse(expect_remedy(command, "--skip-bad skips it")).at("images"), kGood);
}

TEST_F(Remedy, OfAProjectionSkipsIt) {
  put_photos(kGood);
  const Arguments command = {"weights",   "project", "small.safetensors",
                             "--replace", "--kind",  "pca",
                             "--images",  "photos",  "--dim",
                             "4",         "--out",   "p.safetensors",
                             "--json",    "-"};
  const Json done = Json::parse(expect_remedy(command, "--skip-bad skips it"));
  EXPECT_EQ(done.at("photos"), kGood);
  EXPECT_EQ(done.at("bad"), 1);
}

TEST_F(Remedy, ABuildGoesOnWithItsOwnModelAlone) {
  put_photos(kGood);
  EXPECT_NE(run(of_model({"index", "build", "g"}, kPhotos)).err.find("39 images are kept in g"),
            std::string::npos);
  for (const Arguments& other : {Arguments{"--grid", "2"}, {"--type", "float32"}}) {
    Arguments command = of_model({"index", "build", "g", "--resume", "--skip-bad"}, kPhotos);
    command.insert(command.end(), other.begin(), other.end());
    expect_refused(command, {"g: was begun with", "repeat the call"});
  }
  Arguments cropped = of_model({"index", "build", "g", "--resume", "--crop", "48"}, kPhotos);
  expect_refused(cropped, {"g: was begun with another model or other options"});
  expect_refused(of_model({"index", "build", "g"}, kPhotos), {"--resume continues a build"});
}

}  // namespace
}  // namespace diml::test
