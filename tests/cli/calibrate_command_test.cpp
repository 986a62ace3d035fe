// diml calibrate, and the commands that use what it chose.

#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/grid_folder.h"
#include "cli/photo_folder.h"

namespace diml::test {
namespace {

using Json = nlohmann::json;

class CalibrateFiles : public GridFolder {};

TEST_F(CalibrateFiles, TellsTheChoiceItsEvidenceAndAllTrials) {
  run_well({"generate", "--images", "120", "--classes", "12", "--dim", "16", "--out", "g"});
  const Arguments call = {
      "calibrate", "--cells",      "g.cells.npy", "--globals",   "g.globals.npy",
      "--labels",  "g.labels.npy", "--lambdas",   "0.02,0.1",    "--weights",
      "0.5,2",     "--depths",     "10",          "--criterion", "map_at_r"};
  Arguments as_json = call;
  as_json.insert(as_json.end(), {"--json", "-"});
  const Json report = Json::parse(run_well(as_json));
  EXPECT_EQ(report.at("trials").size(), 3U * 3U * 2U);  // the paper's values are always tried
  EXPECT_EQ(report.at("criterion"), "map_at_r");
  EXPECT_EQ(report.at("classes"), 12);
  EXPECT_EQ(report.at("chosen_by_folds").size(), 5U);
  EXPECT_EQ(report.at("chosen").at("grid"), 4);
  EXPECT_GE(report.at("value").get<double>(), report.at("paper").get<double>());
  const std::string text = run_well(call);
  EXPECT_NE(text.find("nothing was written"), std::string::npos) << text;
}

TEST_F(CalibrateFiles, RefusesWhatItCannotUse) {
  expect_refused({"calibrate"}, {"--model", "--cells"});
  expect_refused({"calibrate", "--cells", "C.npy"}, {"--labels"});
  expect_refused({"calibrate", "--cells", "C.npy", "--labels", "L.npy", "--out", "m.safetensors"},
                 {"--out", "no model"});
  expect_refused({"calibrate", "--cells", "C.npy", "--labels", "L.npy"}, {"2 x 3", "square"});
}

class CalibrateModel : public PhotoFolder {
 protected:
  // The only size of grid that is tried differs from the default.
  CalibrateModel() {
    run_well({"calibrate", "--model",  "small.safetensors",
              "--dataset", "critters", "--root",
              "critters",  "--grids",  "2",
              "--lambdas", "0.1",      "--weights",
              "2",         "--depths", "4",
              "--folds",   "3",        "--criterion",
              "map_at_r",  "--out",    "c.safetensors",
              "--json",    "c.json"});
    chosen_ = Json::parse(bytes_of(at("c.json"))).at("chosen");
  }
  static Arguments evaluate(const std::string& model, const Arguments& more = {}) {
    Arguments call = {"evaluate", "--model", model, "--dataset",   "critters", "--root",
                      "critters", "--json",  "-",   "--resamples", "0"};
    call.insert(call.end(), more.begin(), more.end());
    return call;
  }
  Json results(const Arguments& call) const { return Json::parse(run_well(call)).at("results"); }

  Json chosen_;
};

TEST_F(CalibrateModel, EvaluateUsesTheChoiceAndSaysSo) {
  const ProgramResult calibrated = run(evaluate("c.safetensors"));
  ASSERT_EQ(calibrated.exit_code, 0) << calibrated.err;
  EXPECT_NE(calibrated.err.find("calibrated setting of the model: grid 2"), std::string::npos)
      << calibrated.err;
  const auto text = [&](const char* name) { return chosen_.at(name).dump(); };
  EXPECT_EQ(Json::parse(calibrated.out).at("results"),
            results(evaluate("small.safetensors",
                             {"--grid", "2", "--lambda", text("lambda"), "--structural-weight",
                              text("structural_weight"), "--rerank", "0," + text("rerank")})));
  EXPECT_EQ(results(evaluate("c.safetensors", {"--no-calibration"})),
            results(evaluate("small.safetensors")));
  const ProgramResult other_grid = run(evaluate("c.safetensors", {"--grid", "4"}));
  EXPECT_NE(other_grid.err.find("calibration not used"), std::string::npos) << other_grid.err;
  EXPECT_EQ(Json::parse(other_grid.out).at("results"), results(evaluate("small.safetensors")));
  const ProgramResult own = run(evaluate("c.safetensors", {"--lambda", "0.2"}));
  EXPECT_NE(own.err.find("except --lambda, as given"), std::string::npos) << own.err;
}

TEST_F(CalibrateModel, AGalleryOfTheModelIsSearchedWithIt) {
  run_well({"index", "build", "g", "--model", "c.safetensors", "--dataset", "critters", "--root",
            "critters"});
  const ProgramResult found = run({"search", "g", "--id", "0", "--top", "3", "--json", "-"});
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_NE(found.err.find("calibrated setting of the model: grid 2"), std::string::npos)
      << found.err;
  const auto hits = [](const std::string& json) {
    return Json::parse(json).at("queries")[0].at("hits");
  };
  const auto text = [&](const char* name) { return chosen_.at(name).dump(); };
  const std::string given =
      run_well({"search", "g", "--id", "0", "--top", "3", "--json", "-", "--no-calibration",
                "--lambda", text("lambda"), "--structural-weight", text("structural_weight"),
                "--rerank", text("rerank")});
  EXPECT_EQ(hits(found.out), hits(given));
  EXPECT_EQ(run({"search", "g", "--id", "0", "--no-calibration"}).err.find("calibrated"),
            std::string::npos);
}

TEST_F(CalibrateModel, SaysWhatItLeavesOut) {
  for (std::size_t i = 0; i < kTest; ++i)
    put_photo(i, std::string("photos/") + "abcdef"[i / 2] + "/deep/" + std::to_string(i) + ".jpg");
  put_photo(0, "photos/loose.jpg");
  put_text("photos/a/raw.cr2", "raw");
  const auto calibrate = [&](const Arguments& more) {
    Arguments call = {
        "calibrate", "--model", "small.safetensors", "--dataset", "folder",   "--root", "photos",
        "--grids",   "2",       "--lambdas",         "0.05",      "--depths", "2",      "--folds",
        "2"};
    call.insert(call.end(), more.begin(), more.end());
    return run(call);
  };
  const ProgramResult half = calibrate({});
  ASSERT_EQ(half.exit_code, 0) << half.err;
  for (const char* said : {"photos: 1 picture is left out: 1 .cr2", "photos: 1 photo is left out",
                           "photos: 6 of 12 images, those of the train split"}) {
    EXPECT_NE(half.err.find(said), std::string::npos) << said << " in " << half.err;
  }
  const ProgramResult all = calibrate({"--split", "all", "--json", "-"});
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(Json::parse(all.out).at("images"), kTest);
  EXPECT_EQ(Json::parse(all.out).at("unlabelled"), 1);
  EXPECT_NE(calibrate({"--split", "all"}).out.find("1 image is without a label and took no part"),
            std::string::npos);
  for (std::size_t i = 0; i < 20; ++i)
    put_photo(i % kTest, "ten/" + std::to_string(i / 2) + "/" + std::to_string(i) + ".jpg");
  const ProgramResult held_out =
      run({"calibrate", "--model", "small.safetensors", "--dataset", "folder", "--root", "ten",
           "--split", "all", "--held-out", "--grids", "2", "--lambdas", "0.05", "--depths", "2",
           "--folds", "2"});
  EXPECT_NE(held_out.err.find("ten: 4 of these 20 images, those of the 2 held-out classes"),
            std::string::npos)
      << held_out.err;
}

TEST_F(CalibrateModel, KeepsNothingThatIsForAnotherProjection) {
  expect_refused({"calibrate", "--model", "small.safetensors", "--dataset", "critters", "--root",
                  "critters", "--no-projection", "--out", "d.safetensors"},
                 {"--no-projection", "--out"});
}

}  // namespace
}  // namespace diml::test
