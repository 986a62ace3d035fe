// --prior affine, from the command line on.

#include <nlohmann/json.hpp>

#include "cli/grid_folder.h"
#include "cli/photo_folder.h"
#include "diml/explain.h"

namespace diml::test {
namespace {

using Json = nlohmann::json;

// Grids of 4 x 4 cells in g.*, and pairs of them.
class PriorCommand : public GridFolder {
 protected:
  PriorCommand() {
    run_well({"generate", "--images", "40", "--classes", "8", "--dim", "16", "--out", "g"});
    write_integers(at("G.npy"), {4, 2}, {0, 1, 5, 3, 7, 7, 11, 2});
  }
  static Arguments on_generated(Arguments command, const Arguments& more) {
    const bool match = command.front() == "match";
    const Arguments files = match
                                ? Arguments{"--cells", "g.cells.npy", "--globals", "g.globals.npy",
                                            "--pairs", "G.npy",       "--out",     "S.npy"}
                                : Arguments{"--cells",       "g.cells.npy", "--globals",
                                            "g.globals.npy", "--labels",    "g.labels.npy"};
    command.insert(command.end(), files.begin(), files.end());
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
};

TEST_F(PriorCommand, MatchSaysWhereThePriorWasUsed) {
  run_well(on_generated({"match"}, {"--prior", "affine", "--matcher", "reference", "--json",
                                    "s.json", "--report", "r.csv"}));
  const std::vector<float> reference = read_floats(at("S.npy"), {4});
  const Json summary = Json::parse(bytes_of(at("s.json")));
  EXPECT_GE(summary.at("without_prior").get<int>(), 0);
  EXPECT_LE(summary.at("without_prior").get<int>(), 4);
  const std::string report = bytes_of(at("r.csv"));
  EXPECT_NE(report.find("log_domain,prior_doubt,prior_support\n"), std::string::npos) << report;
  run_well(on_generated({"match"}, {"--prior", "affine"}));
  const std::vector<float> fast = read_floats(at("S.npy"), {4});
  run_well(on_generated({"match"}, {}));
  const std::vector<float> plain = read_floats(at("S.npy"), {4});
  bool changed = false;
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_NEAR(fast[k], reference[k], 2e-4);
    changed = changed || std::abs(plain[k] - reference[k]) > 1e-3F;
  }
  EXPECT_EQ(changed, summary.at("without_prior").get<int>() < 4);
}

TEST_F(PriorCommand, EvaluateTakesIt) {
  const auto results = [&](const Arguments& more) {
    Arguments all = {"--rerank", "0,20", "--resamples", "0", "--json", "-"};
    all.insert(all.end(), more.begin(), more.end());
    return Json::parse(run_well(on_generated({"evaluate"}, all))).at("results");
  };
  const Json plain = results({});
  const Json with = results({"--prior", "affine"});
  EXPECT_EQ(plain[0], with[0]) << "the first stage has no plans";
  EXPECT_NE(plain[1], with[1]);
  EXPECT_EQ(with[1].at("p_at_1"), results({"--prior", "affine", "--threads", "1"})[1].at("p_at_1"));
}

TEST_F(PriorCommand, IsRefusedWhereItCannotBe) {
  // Six cells: nothing says how they lie.
  expect_refused(match({"--prior", "affine"}), {"6 cells", "rows and columns"});
  expect_refused(on_generated({"match"}, {"--prior", "affine", "--certify"}), {"certificate"});
  expect_refused(on_generated({"match"}, {"--prior", "projective"}), {"projective", "affine"});
  expect_refused(on_generated({"match"}, {"--prior", "affine", "--matcher", "exact"}),
                 {"'exact' has no prior"});
  expect_refused(on_generated({"match"}, {"--prior", "affine", "--matcher", "cuda"}), {"cuda"});
}

TEST_F(PriorCommand, MapsSayHowTheirCellsLie) {
  // The six cells as maps of 2 x 3 with the dimensions last.
  write_floats(at("M.npy"), {kImages, 2, 3, kDim}, cells_);
  run_well({"match", "--cells", "M.npy", "--layout", "nhwc", "--globals", "V.npy", "--pairs",
            "P.npy", "--out", "S.npy", "--prior", "affine"});
}

class PriorOfPhotos : public PhotoFolder {};

TEST_F(PriorOfPhotos, ExplainSaysWhatItDidAndShowsRegionsFirst) {
  const std::vector<std::string> names = photos();
  const Arguments call = {"explain",           names[0],  names[1], "--model",
                          "small.safetensors", "--prior", "affine"};
  Arguments as_json = call;
  as_json.insert(as_json.end(), {"--json", "-"});
  const Json why = Json::parse(run_well(as_json));
  EXPECT_EQ(why.at("params").at("prior"), "affine");
  EXPECT_EQ(why.at("prior").at("trusted").get<bool>(), why.at("prior").at("rounds") == 3);
  double sum = why.at("scattered");
  for (const Json& region : why.at("regions")) sum += region.at("contribution").get<double>();
  EXPECT_NEAR(sum, why.at("score").get<double>(), 1e-9);
  const std::string text = run_well(call);
  EXPECT_NE(text.find("affine prior"), std::string::npos) << text;
  EXPECT_LT(text.find("regions"), text.find("strongest pairs"));
}

TEST_F(PriorOfPhotos, AFigureShowsRegionsUnlessPairsAreAskedFor) {
  const std::vector<std::string> names = photos();
  const auto figure = [&](const Arguments& more) {
    Arguments call = {"explain",           names[0], names[1], "--model",
                      "small.safetensors", "--out",  "w.svg"};
    call.insert(call.end(), more.begin(), more.end());
    run_well(call);
    return bytes_of(at("w.svg"));
  };
  EXPECT_NE(figure({}).find("Outlined,"), std::string::npos);
  EXPECT_EQ(figure({}).find("Red,"), std::string::npos);
  EXPECT_NE(figure({"--arrows", "5"}).find("Red,"), std::string::npos);
  EXPECT_NE(figure({"--style", "arrows"}).find("Red,"), std::string::npos);
  EXPECT_NE(figure({"--style", "regions", "--arrows", "3"}).find("Outlined,"), std::string::npos);
}

TEST_F(PriorOfPhotos, EvalJudgesItAndRegions) {
  const Json report = Json::parse(run_well(
      {"explain-eval", "--dataset", "critters", "--root", "critters", "--model",
       "small.safetensors", "--pairs", "20", "--grid", "4", "--curve-pairs", "0", "--json", "-"}));
  bool found = false;
  for (const Json& method : report.at("methods")) {
    found = found || method.at("method") == "transport, affine prior";
  }
  EXPECT_TRUE(found);
  ASSERT_EQ(report.at("regions").size(), 2U);
  for (const Json& one : report.at("regions")) {
    EXPECT_GT(one.at("coverage").get<double>(), one.at("even_coverage").get<double>());
    EXPECT_LE(one.at("right").get<double>(), 100.0);
  }
}

}  // namespace
}  // namespace diml::test
