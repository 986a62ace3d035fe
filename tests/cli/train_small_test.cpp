// Folders with few classes and few photos train, and a run says what it does with them.

#include <filesystem>
#include <regex>

#include "cli/remedy.h"
#include "cli/train_folder.h"
#include "critters/critters.h"
#include "diml/dataset.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class SmallFolder : public TrainFolder {
 protected:
  // photos/a, photos/b ...: `classes` folders of four pictures.
  void put_photos(std::size_t classes) const {
    for (const Sample& sample : load_dataset("critters", at("critters"), Split::all).samples) {
      if (sample.label >= static_cast<std::int64_t>(classes)) continue;
      const std::string folder = at("photos/") + static_cast<char>('a' + sample.label);
      fs::create_directories(folder);
      const auto there = std::distance(fs::directory_iterator(folder), fs::directory_iterator());
      if (there == 4) continue;
      fs::copy(sample.path, folder + "/" + std::to_string(there) + ".jpg");
    }
  }
  // As a new user would: the batch is the recipe's, 56 classes of 2.
  static Arguments train_photos(const std::string& out, const Arguments& settings = {},
                                const Arguments& more = {}) {
    Arguments arguments = {"train", "--dataset", "folder", "--root", "photos", "--out", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {"--set", "threads=1", "epochs=2", "model.dim=16", "grid=2",
                                       "model.crop=32", "model.resize=32", "evaluate.rerank=0,5"});
    arguments.insert(arguments.end(), settings.begin(), settings.end());
    return arguments;
  }
  static bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

TEST_F(SmallFolder, OfThreeClassesTrainsAndSaysHow) {
  put_photos(3);
  const ProgramResult result = run(train_photos("run"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err,
            "a batch of 56 classes x 2 images does not fit 2 training classes with 8 images: it "
            "has 2 classes x 2 images instead, as with --set sampler.batch=4\n");
  EXPECT_EQ(result.out.find("training on 2 classes (8 images); held out to evaluate: 1 class (4 "
                            "images), the test split, searched among the training images too\n"),
            0u)
      << result.out;
  EXPECT_TRUE(says(result.out,
                   " by P@1 at K=5 on 1 held-out class (test split), "
                   "run/best.safetensors\n"))
      << result.out;
  const Json info =
      Json::parse(run_well({"weights", "info", "run/best.safetensors", "--json", "-"}));
  EXPECT_TRUE(says(info.at("provenance"), "best by P@1 at K=5 on 1 held-out class (test split)"))
      << info;
}

TEST_F(SmallFolder, TheLineThatIsPrintedGivesTheSameRun) {
  put_photos(6);
  const ProgramResult chosen = run(train_photos("chosen", {"sampler.per_class=8"}));
  ASSERT_EQ(chosen.exit_code, 0) << chosen.err;
  std::smatch line;
  ASSERT_TRUE(std::regex_search(chosen.err, line, std::regex("--set (.*)\n"))) << chosen.err;
  Arguments settings = {"sampler.per_class=8"};
  std::istringstream words(line[1].str());
  for (std::string word; words >> word;) settings.push_back(word);
  const ProgramResult told = run(train_photos("told", settings));
  ASSERT_EQ(told.exit_code, 0) << told.err;
  EXPECT_EQ(told.err, "");
  EXPECT_EQ(metrics_of("told"), metrics_of("chosen"));
  EXPECT_EQ(bytes_of(at("told/config.yaml")), bytes_of(at("chosen/config.yaml")));
}

TEST_F(SmallFolder, GoesOnWithTheSameBatch) {
  put_photos(6);
  run_well(train_photos("whole"));
  run_well(train_photos("cut", {"epochs=1"}));
  run_well(train_photos("cut", {}, {"--resume"}));
  EXPECT_EQ(metrics_of("cut"), metrics_of("whole"));
}

TEST_F(SmallFolder, ProgramsReadWhatWasHeldOutAndChosen) {
  put_photos(7);
  const Json told = Json::parse(run_well(train_photos("run", {"epochs=1"}, {"--json", "-"})));
  const Json& plan = told.at("plan");
  EXPECT_EQ(plan.at("classes"), 3);
  EXPECT_EQ(plan.at("images"), 12);
  EXPECT_EQ(plan.at("held_out_classes"), 4);
  EXPECT_EQ(plan.at("held_out_images"), 16);
  EXPECT_EQ(plan.at("split"), "test");
  EXPECT_EQ(plan.at("best_by"), "P@1 at K=5 on 4 held-out classes (test split)");
  EXPECT_EQ(plan.at("chosen"), Json::parse(R"({"sampler.batch": "6"})"));
}

TEST_F(SmallFolder, SaysWhichPhotosItDoesNotTakeAndWhy) {
  put_photos(6);
  fs::copy(at("photos/a/0.jpg"), at("photos/loose.jpg"));
  write_bytes(at("photos/b/raw.cr2"), "raw");
  const ProgramResult result = run(train_photos("run", {"epochs=1"}, {"--json", "t.json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(says(result.err, "photos: 1 picture is left out: 1 .cr2 cannot be read"))
      << result.err;
  EXPECT_TRUE(says(result.err, "photos: 1 photo is left out: it lies in no folder of a class\n"))
      << result.err;
  EXPECT_EQ(Json::parse(bytes_of(at("t.json"))).at("plan").at("left_out").size(), 2u);
}

TEST_F(SmallFolder, WithOneClassToTrainOnIsRefused) {
  put_photos(2);
  expect_refused(train_photos("run"), {"photos: has 1 class to train on", "3 or more"});
}

TEST_F(SmallFolder, TheLastEpochIsNotCalledTheBestByAMetric) {
  put_photos(4);
  const std::string out = run_well(train_photos("run", {"evaluate.select=last"}));
  EXPECT_TRUE(says(out, "best: epoch 2 by being the last one, without selection, run/best")) << out;
}

// The evaluation before the first epoch fails: from then on the folder holds a run.
TEST_F(SmallFolder, ARunThatABadPhotoEndedGoesOnAsItAdvises) {
  put_photos(6);
  write_bytes(at("photos/f/3.jpg"), "no picture");
  const Arguments command = train_photos("run");
  const ProgramResult failed = run(command);
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_TRUE(says(failed.err, "photos/f/3.jpg: ")) << failed.err;
  EXPECT_TRUE(
      says(failed.err, "; the run is kept in run (--skip-bad --resume skips it and goes on)"))
      << failed.err;
  const ProgramResult again = run(with_remedy(command, failed.err));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(epochs_of("run").size(), 3u);
}

// Before the run is on disk: the batch of BatchNorm's statistics.
TEST_F(SmallFolder, ARunThatABadPhotoKeptFromBeginningBeginsAsItAdvises) {
  put_photos(4);
  for (const char* name : {"a/0", "a/1", "b/0", "b/1", "b/2"}) {
    write_bytes(at("photos/") + name + ".jpg", "no picture");
  }
  const Arguments command = train_photos("run");
  const ProgramResult failed = run(command);
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_TRUE(says(failed.err, "(--skip-bad")) << failed.err;
  const ProgramResult again = run(with_remedy(command, failed.err));
  EXPECT_EQ(again.exit_code, 0) << again.err;
}

}  // namespace
}  // namespace diml::test
