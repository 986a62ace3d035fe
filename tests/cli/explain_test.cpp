// diml explain and diml explain-eval, from image files on.

#include <algorithm>
#include <filesystem>

#include "cli/photo_folder.h"
#include "diml/explain.h"
#include "diml/image.h"
#include "explain/well_formed.h"

namespace diml::test {
namespace {

using Json = nlohmann::json;

class Explain : public PhotoFolder {
 protected:
  Arguments explain(const Arguments& more) const {
    const std::vector<std::string> names = photos();
    Arguments arguments = {"explain", names[0], names[1], "--model", "small.safetensors"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static Arguments judge(const Arguments& more) {
    Arguments arguments = {"explain-eval", "--dataset", "critters",         "--root",
                           "critters",     "--model",   "small.safetensors"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

TEST_F(Explain, WritesAllKindsOfFilesAtOnce) {
  run_well(explain({"--out", "w.json", "--out", "w.html", "--out", "w.svg", "--out", "w.png",
                    "--out", "w.pdf"}));
  const Explanation why = explanation_from_json(bytes_of(at("w.json")));
  EXPECT_EQ(why.pairs.size(), 256u);
  EXPECT_EQ(why.source, (GridShape{4, 4}));
  EXPECT_NE(bytes_of(at("w.html")).find("drawMatch("), std::string::npos);
  EXPECT_EQ(fault_of_xml(bytes_of(at("w.svg"))), "");
  EXPECT_GT(read_image(at("w.png")).width, 1000u);
  EXPECT_EQ(bytes_of(at("w.pdf")).substr(0, 5), "%PDF-");
}

TEST_F(Explain, SaysWhatMatchSaysOfTheSameGrids) {
  run_well(embed_critters("e"));
  const Json why = Json::parse(run_well(explain({"--json", "-", "--lambda", "0.1"})));
  const std::vector<std::size_t> one_pair = {1, 2};
  const std::vector<std::int64_t> first_two = {0, 1};
  NpyWriter pairs(at("p.npy"), ArrayType::int64, one_pair);
  pairs.append(first_two);
  pairs.commit();
  run_well({"match", "--cells", "e.cells.npy", "--globals", "e.globals.npy", "--pairs", "p.npy",
            "--out", "s.npy", "--lambda", "0.1"});
  EXPECT_NEAR(why.at("score").get<double>(), static_cast<double>(floats_in("s.npy").at(0)), 1e-5);
  const std::vector<float> globals = floats_in("e.globals.npy");
  double cosine = 0.0;
  for (std::size_t d = 0; d < kDim; ++d) {
    cosine += static_cast<double>(globals[d]) * static_cast<double>(globals[kDim + d]);
  }
  EXPECT_NEAR(why.at("cosine").get<double>(), cosine, 1e-5);
}

TEST_F(Explain, TheExactSolverMatchesEachPartWithFew) {
  if (!is_available(Solver::exact)) GTEST_SKIP() << "built without LEMON";
  const Json why = Json::parse(run_well(explain({"--json", "-", "--solver", "exact"})));
  std::size_t carrying = 0;
  for (const Json& row : why.at("plan")) {
    for (const Json& mass : row) carrying += mass.get<double>() > 1e-9 ? 1 : 0;
  }
  EXPECT_LE(carrying, 16u + 16u - 1u);
  EXPECT_EQ(why.at("params").at("solver"), "exact");
}

TEST_F(Explain, PrintsPairsThatAddUp) {
  const std::string said = run_well(explain({"--grid", "2", "--arrows", "3", "--weak", "1"}));
  EXPECT_NE(said.find("the other 13 pairs"), std::string::npos) << said;
  EXPECT_NE(said.find("plain cosine"), std::string::npos);
}

TEST_F(Explain, RefusesWhatItCannotDo) {
  expect_refused(explain({"--out", "w.gif"}), {"w.gif", ".svg"});
  expect_refused(explain({"--arrows", "30"}), {"--arrows", "24"});
  expect_refused(explain({"--solver", "magic"}), {"magic", "exact"});
  expect_refused({"explain", photos()[0], photos()[1]}, {"--model"});
  expect_refused({"explain", "none.jpg", photos()[1], "--model", "small.safetensors"},
                 {"none.jpg"});
  expect_refused(explain({"--out", "no/such/w.png"}), {"no/such/w.png"});
  expect_refused(explain({"--out", "w.png", "--out", "w.png"}), {"w.png", "twice"});
}

#if DIML_HAS_GALLERY
TEST_F(Explain, ImagesOfAGalleryAreNamedByIdOrByPath) {
  run_well({"index", "build", "g", "--model", "small.safetensors", "--dataset", "critters",
            "--root", "critters", "--type", "float32"});
  const Json photos_say = Json::parse(run_well(explain({"--json", "-"})));
  const Json listed =
      Json::parse(run_well({"search", "g", photos()[0], "--top", "12", "--json", "-"}));
  std::vector<std::string> ids(2);
  for (const Json& hit : listed.at("queries")[0].at("hits")) {
    for (std::size_t k = 0; k < 2; ++k) {
      const std::string path = hit.at("path");
      if (path.ends_with(photos()[k])) ids[k] = std::to_string(hit.at("id").get<int>());
    }
  }
  for (const Arguments& two : {Arguments{ids[0], ids[1]}, Arguments{photos()[0], ids[1]},
                               Arguments{photos()[0], photos()[1]}}) {
    const Json why = Json::parse(
        run_well({"explain", two[0], two[1], "--gallery", "g", "--out", "w.png", "--json", "-"}));
    EXPECT_NEAR(why.at("score").get<double>(), photos_say.at("score").get<double>(), 1e-4);
  }
  put_photo(0, "elsewhere.jpg");  // not in the gallery: embedded as a query is
  const Json why =
      Json::parse(run_well({"explain", "elsewhere.jpg", ids[1], "--gallery", "g", "--json", "-"}));
  EXPECT_NEAR(why.at("score").get<double>(), photos_say.at("score").get<double>(), 1e-4);
  expect_refused({"explain", "99999", ids[1], "--gallery", "g"}, {"99999"});
}
#endif

TEST_F(Explain, EvalJudgesAllMethodsAndDrawsThem) {
  const Json report =
      Json::parse(run_well(judge({"--pairs", "20", "--grid", "4", "--curve-pairs", "3",
                                  "--distractors", "4", "--plot", "p.svg", "--json", "-"})));
  EXPECT_EQ(report.at("pairs"), 20);
  EXPECT_GT(report.at("parts").get<int>(), 40);
  std::vector<std::string> names;
  for (const Json& method : report.at("methods")) {
    names.push_back(method.at("method"));
    EXPECT_LE(method.at("exact").get<double>(), method.at("within_one").get<double>());
  }
  for (const char* name : {"transport, cross_correlation", "transport, uniform", "nearest cosine",
                           "same position", "centre"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
  ASSERT_EQ(report.at("curves").size(), 3u);
  for (const Json& curve : report.at("curves")) {
    // With all cells the order is the same to rounding.
    EXPECT_NEAR(curve.at("points").back().at("score").get<double>(),
                report.at("curves")[0].at("points").back().at("score").get<double>(), 1e-5);
  }
  EXPECT_EQ(fault_of_xml(bytes_of(at("p.svg"))), "");
}

TEST_F(Explain, EvalSaysTheSameTwiceAndPrintsATable) {
  const Arguments call = judge({"--pairs", "8", "--grid", "3", "--curve-pairs", "2"});
  const std::string said = run_well(call);
  EXPECT_EQ(run_well(call), said);
  EXPECT_NE(said.find("nearest cosine"), std::string::npos) << said;
  EXPECT_NE(said.find("source cells kept"), std::string::npos);
}

TEST_F(Explain, EvalRefusesWhatHasNoParts) {
  std::filesystem::remove_all(at("critters/parts"));
  expect_refused(judge({}), {"part"});
  expect_refused({"explain-eval", "--model", "small.safetensors"}, {"--dataset"});
  expect_refused(judge({"--plot", "p.txt"}), {"p.txt", ".svg"});
}

}  // namespace
}  // namespace diml::test
