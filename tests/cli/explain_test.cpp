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

TEST_F(Explain, AnEvaluationSaysWhichSplitItTakes) {
  const ProgramResult result = run(judge({"--grid", "2", "--pairs", "10", "--curve-pairs", "0"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("critters: 12 of 24 images, those of the test split; --split all"),
            std::string::npos)
      << result.err;
}

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
  if (!is_available(Backend::exact)) GTEST_SKIP() << "built without LEMON";
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

TEST_F(Explain, AFigureHasTheWidthTheTextAndThePanelsAskedFor) {
  run_well(explain({"--out",        "w.png",         "--out",    "w.svg",         "--width",
                    "18cm",         "--dpi",         "200",      "--font-size",   "7.5",
                    "--style",      "numbered",      "--panels", "photos,pairs",  "--no-title",
                    "--no-caption", "--source-name", "Query",    "--target-name", ""}));
  EXPECT_EQ(read_image(at("w.png")).width, 1417u);
  std::string svg = bytes_of(at("w.svg"));
  EXPECT_EQ(fault_of_xml(svg), "");
  EXPECT_NE(svg.find(">Query</text>"), std::string::npos);
  EXPECT_NE(svg.find("font-size=\"7.500\""), std::string::npos);
  const std::string attribute = "font-weight";  // is no word of the figure
  for (std::size_t at = 0; (at = svg.find(attribute)) != std::string::npos;) {
    svg.erase(at, attribute.size());
  }
  for (const char* word : {"similarity", "weight", ".jpg</text>", "glyph"}) {
    EXPECT_EQ(svg.find(word), std::string::npos) << word;
  }
  run_well(explain({"--out", "w.png", "--width", "900px"}));
  EXPECT_EQ(read_image(at("w.png")).width, 900u);
  run_well(explain({"--out", "w.png", "--width", "900px", "--dpi", "150"}));
  EXPECT_EQ(read_image(at("w.png")).width, 900u);
}

TEST_F(Explain, RefusesAFigureThatCannotBe) {
  const auto refused = [&](const Arguments& more, const std::vector<std::string>& words) {
    Arguments all = {"--out", "w.svg"};
    all.insert(all.end(), more.begin(), more.end());
    expect_refused(explain(all), words);
  };
  refused({"--width", "7"}, {"--width 7", "7in"});
  refused({"--width", "7ft"}, {"7ft", "cm"});
  refused({"--width", "-7in"}, {"-7in"});
  refused({"--width", "1000in"}, {"width"});
  refused({"--width", "2in", "--font-size", "20"}, {"--width", "no room"});
  refused({"--dpi", "0"}, {"--dpi"});
  refused({"--style", "loud"}, {"loud", "numbered"});
  refused({"--panels", "photos,heat"}, {"heat", "weights"});
  expect_refused(explain({"--style", "numbered", "--out", "w.html"}), {"--style", ".svg"});
}

// Features of another program: cells that are no photos of ours.
TEST_F(Explain, TwoRowsOfAnArrayNeedNoPicture) {
  run_well(embed_critters("e"));
  const Arguments rows = {"explain",       "--cells", "e.cells.npy", "--globals",
                          "e.globals.npy", "--pair",  "0,1"};
  const auto with = [&rows](const Arguments& more) {
    Arguments all = rows;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const Json photos_say = Json::parse(run_well(explain({"--json", "-"})));
  const Json why = Json::parse(run_well(with({"--json", "-"})));
  EXPECT_NEAR(why.at("score").get<double>(), photos_say.at("score").get<double>(), 1e-5);
  EXPECT_NEAR(why.at("cosine").get<double>(), photos_say.at("cosine").get<double>(), 1e-5);
  std::vector<std::string> keys, expected;
  for (const auto& [key, value] : why.items()) keys.push_back(key);
  for (const auto& [key, value] : photos_say.items()) expected.push_back(key);
  EXPECT_EQ(keys, expected) << "the same object for programs";

  const ProgramResult said = run(with({"--out", "w.json"}));
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_EQ(said.err, "") << "numbers need no picture, so none is missed";
  EXPECT_EQ(said.out.find("image 0 and image 1\nregions"), 0u) << said.out;
  EXPECT_EQ(Json::parse(bytes_of(at("w.json"))).at("score"), why.at("score"));

  // Rows are source and target in this order.
  const Json back = Json::parse(run_well({"explain", "--cells", "e.cells.npy", "--globals",
                                          "e.globals.npy", "--pair", "1,0", "--json", "-"}));
  EXPECT_NE(back.at("marginals").at("source"), why.at("marginals").at("source"));
}

TEST_F(Explain, MapsOfUnequalSidesKeepTheirRows) {
  // [images, dimensions, rows, columns]: two rows, three columns.
  std::vector<float> maps(2 * kDim * 6);
  for (std::size_t k = 0; k < maps.size(); ++k) maps[k] = static_cast<float>(1 + k * k % 7);
  const std::vector<std::size_t> shape = {2, kDim, 2, 3};
  NpyWriter writer(at("m.npy"), ArrayType::float32, shape);
  writer.append(maps);
  writer.commit();
  expect_refused({"explain", "--cells", "m.npy", "--pair", "0,1"}, {"m.npy", "--layout"});
  const Json why = Json::parse(run_well(
      {"explain", "--cells", "m.npy", "--pair", "0,1", "--layout", "nchw", "--json", "-"}));
  EXPECT_EQ(why.at("rows_source"), 2);
  EXPECT_EQ(why.at("cols_source"), 3);
  EXPECT_EQ(why.at("cols_target"), 3);
}

TEST_F(Explain, PicturesOfRowsAreFoundThroughTheirPaths) {
  run_well(embed_critters("e"));
  const auto page = [&](const Arguments& more) {
    Arguments all = {"explain", "--cells", "e.cells.npy", "--globals", "e.globals.npy", "--pair",
                     "0,1",     "--out",   "w.html",      "--out",     "w.png"};
    all.insert(all.end(), more.begin(), more.end());
    const ProgramResult result = run(all);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_GT(read_image(at("w.png")).width, 1000u);
    return std::pair(bytes_of(at("w.html")), result);
  };
  run_well(explain({"--out", "photos.html"}));
  const auto [shown, with_paths] =
      page({"--paths", "e.paths.txt", "--resize", "72", "--crop", "64"});
  EXPECT_EQ(with_paths.err, "");
  const std::string of_photos = bytes_of(at("photos.html"));
  const auto pictures_of = [](const std::string& text) {
    std::vector<std::string> pictures;
    const std::string begin = "data:image/";
    for (std::size_t k = text.find(begin); k != std::string::npos; k = text.find(begin, k + 1)) {
      pictures.push_back(text.substr(k, text.find_first_of("\"'`)", k) - k));
    }
    return pictures;
  };
  EXPECT_EQ(pictures_of(shown).size(), 2u);
  EXPECT_EQ(pictures_of(shown), pictures_of(of_photos)) << "what the network saw";
  const std::string name = std::filesystem::path(photos()[0]).filename().string();
  EXPECT_NE(shown.find(name), std::string::npos);
  EXPECT_EQ(with_paths.out.find(name + " and "), 0u) << with_paths.out;

  // Whole photos, where nobody says what the network saw of them.
  EXPECT_NE(page({"--paths", "e.paths.txt"}).second.err.find("--crop"), std::string::npos);

  // Without pictures the grids are drawn, and this is said.
  const auto [alone, without] = page({});
  EXPECT_NE(without.err.find("--paths"), std::string::npos) << without.err;
  EXPECT_NE(pictures_of(alone), pictures_of(shown));
  EXPECT_NE(alone.find("image 0"), std::string::npos);
  std::filesystem::remove(at(photos()[0]));
  const auto gone = page({"--paths", "e.paths.txt", "--resize", "72", "--crop", "64"}).second;
  EXPECT_NE(gone.err.find("1 picture could not be read"), std::string::npos) << gone.err;
  EXPECT_NE(gone.err.find(name), std::string::npos);
  EXPECT_EQ(gone.err.find('\n'), gone.err.size() - 1) << "not one line: " << gone.err;
}

TEST_F(Explain, RefusesRowsThatAreNotThere) {
  run_well(embed_critters("e"));
  const auto refused = [&](const Arguments& more, const std::vector<std::string>& words) {
    Arguments all = {"explain", "--cells", "e.cells.npy"};
    all.insert(all.end(), more.begin(), more.end());
    expect_refused(all, words);
  };
  refused({"--pair", "0,12"}, {"e.cells.npy", "12 images", "no image 12"});
  for (const char* bad : {"0", "0,", "0,1,2", "a,b", "0 1", "-1,0", ""}) {
    refused({"--pair", bad}, {"--pair"});
  }
  refused({}, {"--pair"});
  refused({"--pair", "0,1", "--globals", "none.npy"}, {"none.npy"});
  refused({"--pair", "0,1", "--paths", "none.txt"}, {"none.txt"});
  put_text("few.txt", "a.jpg\nb.jpg\n");
  refused({"--pair", "0,1", "--paths", "few.txt"}, {"few.txt", "2 lines", "12 are wanted"});
  refused({"--pair", "0,1", "--model", "small.safetensors"}, {"--model"});
  refused({"--pair", "0,1", photos()[0]}, {photos()[0], "--pair"});
  refused({"--pair", "0,1", "--out", "e.cells.npy"}, {"e.cells.npy"});
  expect_refused({"explain", "--cells", "none.npy", "--pair", "0,1"}, {"none.npy"});
  expect_refused({"explain", "--pair", "0,1"}, {"--cells"});
  expect_refused({"explain"}, {"--cells", "--pair"});
  expect_refused({"explain", photos()[0], "--model", "small.safetensors"}, {"two images"});
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
