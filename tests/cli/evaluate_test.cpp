#include "diml/evaluate.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/raw_npy.h"
#include "cli/grid_folder.h"
#include "search/kmeans.h"

namespace diml::test {
namespace {

using Json = nlohmann::json;

std::set<std::string> keys_of(const Json& json) {
  std::set<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.insert(key);
  return keys;
}

class EvaluateCommand : public GridFolder {
 protected:
  Json evaluated(Arguments more = {}) const {
    more.insert(more.end(), {"--json", "-"});
    return Json::parse(run_well(evaluate(more)));
  }

  // All images of a class are one and the same, and unlike those of other classes.
  void write_separate_classes(const std::vector<std::int64_t>& labels) const {
    std::vector<float> cells(labels.size() * kCells * kDim);
    std::vector<float> globals(labels.size() * kDim);
    for (std::size_t image = 0; image < labels.size(); ++image) {
      const std::size_t axis = static_cast<std::size_t>(labels[image]);
      for (std::size_t i = 0; i < kCells; ++i) cells[(image * kCells + i) * kDim + axis] = 1.0f;
      globals[image * kDim + axis] = 1.0f;
    }
    write_floats(at("C.npy"), {labels.size(), kCells, kDim}, cells);
    write_floats(at("V.npy"), {labels.size(), kDim}, globals);
    write_integers(at("L.npy"), {labels.size()}, labels);
  }
};

TEST_F(EvaluateCommand, WeightsSayWhichSimilarityOrdersTheHead) {
  const auto of_depth = [](const Json& json, std::size_t r) { return json.at("results")[r]; };
  const Json plain = evaluated({"--rerank", "0,5"});
  Json cosine = evaluated({"--rerank", "0,5", "--structural-weight", "0"});
  Json structural = evaluated({"--rerank", "0,5", "--global-weight", "0"});
  cosine["results"][1]["rerank"] = 0;
  EXPECT_EQ(of_depth(cosine, 1), of_depth(plain, 0));
  EXPECT_NE(of_depth(structural, 1), of_depth(plain, 1));
  EXPECT_EQ(of_depth(structural, 0), of_depth(plain, 0));
}

TEST_F(EvaluateCommand, WritesTheKeysOfTheContract) {
  const Json json = evaluated();
  EXPECT_EQ(keys_of(json), (std::set<std::string>{"queries", "left_out", "unlabelled", "gallery",
                                                  "results", "gains", "confidence", "seconds"}));
  EXPECT_EQ(keys_of(json.at("seconds")), (std::set<std::string>{"first_stage", "rerank"}));
  EXPECT_TRUE(json.at("queries").is_number_unsigned());
  EXPECT_TRUE(json.at("left_out").is_number_unsigned());
  EXPECT_GE(json.at("seconds").at("first_stage").get<double>(), 0.0);
  EXPECT_GE(json.at("seconds").at("rerank").get<double>(), 0.0);
  EXPECT_EQ(keys_of(json.at("confidence")), (std::set<std::string>{"level", "resamples", "seed"}));
  for (const Json& gain : json.at("gains")) {
    EXPECT_EQ(keys_of(gain),
              (std::set<std::string>{"rerank", "over", "p_at_1", "r_precision", "map_at_r",
                                     "intervals", "fixed", "broken", "same", "summary"}));
  }
  for (const Json& result : json.at("results")) {
    EXPECT_EQ(keys_of(result), (std::set<std::string>{"rerank", "p_at_1", "r_precision", "map_at_r",
                                                      "r_precision_paper", "map_at_r_paper",
                                                      "recall_at", "intervals"}));
    EXPECT_TRUE(result.at("rerank").is_number_unsigned());
    for (const char* key :
         {"p_at_1", "r_precision", "map_at_r", "r_precision_paper", "map_at_r_paper"}) {
      EXPECT_TRUE(result.at(key).is_number_float()) << key;
    }
  }
}

TEST_F(EvaluateCommand, EvaluatesPlainCosineAndAHundredUnlessSaid) {
  const Json results = evaluated().at("results");
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].at("rerank"), 0);
  EXPECT_EQ(results[1].at("rerank"), 100);
}

TEST_F(EvaluateCommand, CountsInPercent) {
  write_separate_classes({0, 0, 0, 1, 1, 1, 2, 2, 2});
  const Json json = evaluated({"--rerank", "0,4"});
  for (const Json& result : json.at("results")) {
    EXPECT_NEAR(result.at("p_at_1"), 100.0, 1e-9);
    EXPECT_NEAR(result.at("r_precision"), 100.0, 1e-9);
    EXPECT_NEAR(result.at("map_at_r"), 100.0, 1e-9);
    // The paper divides by the size of the class, although the query itself cannot be found: 2 of
    // 3.
    EXPECT_NEAR(result.at("r_precision_paper"), 200.0 / 3.0, 1e-9);
    EXPECT_NEAR(result.at("map_at_r_paper"), 200.0 / 3.0, 1e-9);
  }
}

TEST_F(EvaluateCommand, GivesTheNumbersOfTheLibrary) {
  EvaluateParams params;
  params.rerank = {0, 3, 11};
  params.backend = Backend::reference;
  const GridSet set = grids();
  const Evaluation expected = diml::evaluate(set.view(), labels_, params);
  const Json json = evaluated({"--rerank", "0,3,11", "--matcher", "reference"});
  EXPECT_EQ(json.at("queries"), expected.queries);
  ASSERT_EQ(json.at("results").size(), expected.results.size());
  for (std::size_t r = 0; r < expected.results.size(); ++r) {
    const Json& result = json.at("results")[r];
    const RetrievalMetrics& metrics = expected.results[r].metrics;
    EXPECT_NEAR(result.at("p_at_1"), 100.0 * metrics.p_at_1, 1e-9);
    EXPECT_NEAR(result.at("r_precision"), 100.0 * metrics.r_precision, 1e-9);
    EXPECT_NEAR(result.at("map_at_r"), 100.0 * metrics.map_at_r, 1e-9);
    EXPECT_NEAR(result.at("r_precision_paper"), 100.0 * metrics.r_precision_paper, 1e-9);
    EXPECT_NEAR(result.at("map_at_r_paper"), 100.0 * metrics.map_at_r_paper, 1e-9);
  }
}

TEST_F(EvaluateCommand, ReRankingLooksAtTheCells) {
  // Classes 0 and 1 share cells within and globals across: the cosine finds the other class, the
  // structure its own.
  const std::vector<std::int64_t> labels = {0, 0, 1, 1};
  constexpr std::size_t kImagesHere = 4;
  std::vector<float> cells(kImagesHere * kCells * kDim);
  std::vector<float> globals(kImagesHere * kDim);
  for (std::size_t image = 0; image < kImagesHere; ++image) {
    const std::size_t axis = 4 + static_cast<std::size_t>(labels[image]);
    for (std::size_t i = 0; i < kCells; ++i) cells[(image * kCells + i) * kDim + axis] = 1.0f;
    globals[image * kDim + image % 2] = 1.0f;
    globals[image * kDim + 2] = 0.5f;  // a little of all, so that classmates are not at cosine 0
  }
  write_floats(at("C.npy"), {kImagesHere, kCells, kDim}, cells);
  write_floats(at("V.npy"), {kImagesHere, kDim}, globals);
  write_integers(at("L.npy"), {kImagesHere}, labels);
  const Json results = evaluated({"--rerank", "0,3", "--marginals", "uniform"}).at("results");
  EXPECT_EQ(results[0].at("p_at_1"), 0.0);
  EXPECT_EQ(results[1].at("p_at_1"), 100.0);
}

TEST_F(EvaluateCommand, KeepsTheOrderOfTheDepths) {
  const Json results = evaluated({"--rerank", "5,0,2"}).at("results");
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].at("rerank"), 5);
  EXPECT_EQ(results[1].at("rerank"), 0);
  EXPECT_EQ(results[2].at("rerank"), 2);
  const Json sorted = evaluated({"--rerank", "0,2,5"}).at("results");
  EXPECT_EQ(results[0], sorted[2]);
  EXPECT_EQ(results[1], sorted[0]);
  EXPECT_EQ(results[2], sorted[1]);
}

TEST_F(EvaluateCommand, TakesDepthsBeyondTheGallery) {
  const Json results = evaluated({"--rerank", "11,12,5000"}).at("results");
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[2].at("rerank"), 5000);
  for (const char* key : {"p_at_1", "r_precision", "map_at_r"}) {
    EXPECT_EQ(results[1].at(key), results[0].at(key));
    EXPECT_EQ(results[2].at(key), results[0].at(key));
  }
}

TEST_F(EvaluateCommand, LeavesOutQueriesThatAreAloneInTheirClass) {
  write_separate_classes({0, 0, 5, 1, 1, 1, 6});
  const Json json = evaluated({"--rerank", "0,2"});
  EXPECT_EQ(json.at("left_out"), 2);
  EXPECT_EQ(json.at("queries"), 5);
  for (const Json& result : json.at("results")) EXPECT_NEAR(result.at("p_at_1"), 100.0, 1e-9);
}

TEST_F(EvaluateCommand, TakesTheRolesOfTheImagesFromAFile) {
  const std::vector<std::int64_t> roles = {1, 2, 3, 3, 3, 2, 1, 1, 2, 1, 1, 1};
  write_integers(at("R.npy"), {kImages}, roles);
  EvaluateParams params;
  params.rerank = {0, 3};
  params.backend = Backend::reference;
  for (const std::int64_t role : roles) params.roles.push_back(static_cast<Role>(role));
  const GridSet set = grids();
  const Evaluation expected = diml::evaluate(set.view(), labels_, params);
  const Arguments options = {"--rerank", "0,3", "--matcher", "reference", "--roles", "R.npy"};
  const Json json = evaluated(options);
  EXPECT_EQ(json.at("queries"), 6);
  EXPECT_EQ(json.at("left_out"), 3);  // the last class has no image in the gallery
  EXPECT_EQ(json.at("gallery"), 6);
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_NEAR(json.at("results")[r].at("map_at_r"), 100.0 * expected.results[r].metrics.map_at_r,
                1e-9);
  }
  EXPECT_NE(run_well(evaluate(options)).find("6 queries in a gallery of 6 (3 left out"),
            std::string::npos);
}

TEST_F(EvaluateCommand, SaysNothingOfTheGalleryWhereEveryImageIsBoth) {
  EXPECT_EQ(evaluated().at("gallery"), kImages);
  EXPECT_EQ(run_well(evaluate()).find("gallery"), std::string::npos);
}

TEST_F(EvaluateCommand, AcceptsTheGridThatTheFilesHave) {
  write_floats(at("C.npy"), {kImages, 4, kDim},
               {cells_.begin(), cells_.begin() + kImages * 4 * kDim});
  EXPECT_EQ(evaluated({"--grid", "2"}).at("queries"), kImages);
}

TEST_F(EvaluateCommand, TellsTheMutualInformationOnRequest) {
  EXPECT_FALSE(evaluated().contains("nmi"));
  const GridSet set = grids();
  std::set<double> values;
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    EvaluateParams params;
    params.nmi = true;
    params.seed = seed;
    const double expected = 100.0 * diml::evaluate(set.view(), labels_, params).nmi.value();
    EXPECT_NEAR(evaluated({"--nmi", "--seed", std::to_string(seed)}).at("nmi"), expected, 1e-9)
        << seed;
    values.insert(expected);
  }
  EXPECT_GT(values.size(), 1u) << "no seed makes a difference: a test of nothing";
}

TEST_F(EvaluateCommand, ClassesThatLieApartShareAllTheirInformationWithTheirClusters) {
  const std::vector<std::int64_t> labels = {0, 0, 0, 1, 1, 1, 2, 2, 2};
  write_separate_classes(labels);
  const std::vector<float> globals = read_floats(at("V.npy"), {labels.size(), kDim});
  int found = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const std::vector<std::int64_t> clusters =
        kmeans({globals.data(), labels.size(), kDim}, {.clusters = 3, .seed = seed});
    // A clustering may start from two images of one class and stay there.
    const bool apart =
        clusters[0] != clusters[3] && clusters[3] != clusters[6] && clusters[6] != clusters[0];
    const double nmi = evaluated({"--nmi", "--seed", std::to_string(seed)}).at("nmi");
    if (apart) {
      EXPECT_NEAR(nmi, 100.0, 1e-9) << seed;
      ++found;
    } else {
      EXPECT_LT(nmi, 99.0) << seed;
    }
  }
  EXPECT_GT(found, 0) << "no seed tells them apart: a test of nothing";
}

TEST_F(EvaluateCommand, TellsTheNumbersOfEachClassOnRequest) {
  const Json plain = evaluated({"--rerank", "3"}).at("results")[0];
  EXPECT_FALSE(plain.contains("classes"));
  const Json result = evaluated({"--rerank", "3", "--per-class"}).at("results")[0];
  ASSERT_EQ(result.at("classes").size(), 4u);
  std::set<std::int64_t> labels;
  double weighted = 0.0;
  for (const Json& one : result.at("classes")) {
    labels.insert(std::stoll(one.at("label").get<std::string>()));
    EXPECT_EQ(one.at("queries"), 3);
    weighted += one.at("map_at_r").get<double>() / 4.0;
  }
  EXPECT_EQ(labels, std::set<std::int64_t>(labels_.begin(), labels_.end()));
  EXPECT_NEAR(weighted, result.at("map_at_r"), 1e-9);
}

TEST_F(EvaluateCommand, WritesJsonToAFileBesideTheTableForPeople) {
  const std::string table = run_well(evaluate({"--json", "J.json", "--rerank", "0,3"}));
  EXPECT_NE(table.find("12 queries"), std::string::npos) << table;
  EXPECT_NE(table.find("MAP@R"), std::string::npos) << table;
  EXPECT_EQ(Json::parse(bytes_of(at("J.json"))).at("queries"), kImages);
}

TEST_F(EvaluateCommand, WritesNoFileUnlessAsked) {
  const std::vector<std::string> before = folder_.names();
  run_well(evaluate());
  EXPECT_EQ(folder_.names(), before);
}

// -1 is no class of its own: such images would all be right for each other.
TEST_F(EvaluateCommand, ImagesWithoutALabelTakeNoPartAndAreCounted) {
  std::vector<std::int64_t> labels = labels_;
  for (const std::size_t image : {0, 5, 6}) labels[image] = -1;
  write_integers(at("L.npy"), {kImages}, labels);
  const Json some = evaluated({"--rerank", "0,5", "--nmi"});
  EXPECT_EQ(some.at("unlabelled"), 3);
  EXPECT_EQ(some.at("queries"), 9);
  EXPECT_EQ(some.at("gallery"), 9);
  EXPECT_NE(run_well(evaluate()).find("3 images without a label took no part"), std::string::npos);

  // The same as if they were not in the files.
  std::vector<float> cells, globals;
  std::vector<std::int64_t> known;
  for (std::size_t i = 0; i < kImages; ++i) {
    if (labels[i] == -1) continue;
    cells.insert(cells.end(), &cells_[i * kCells * kDim],
                 &cells_[i * kCells * kDim] + kCells * kDim);
    globals.insert(globals.end(), &globals_[i * kDim], &globals_[i * kDim] + kDim);
    known.push_back(labels[i]);
  }
  write_floats(at("C.npy"), {9, kCells, kDim}, cells);
  write_floats(at("V.npy"), {9, kDim}, globals);
  write_integers(at("L.npy"), {9}, known);
  const Json alone = evaluated({"--rerank", "0,5", "--nmi"});
  EXPECT_EQ(alone.at("results"), some.at("results"));
  EXPECT_EQ(alone.at("nmi"), some.at("nmi"));

  write_integers(at("L.npy"), {9}, std::vector<std::int64_t>(9, -1));
  expect_refused(evaluate(), {"no image has a label"});
}

// Feature maps as PyTorch and TensorFlow write them give the numbers of cells.
TEST_F(EvaluateCommand, FeatureMapsInEveryLayoutGiveTheSameNumbers) {
  constexpr std::size_t kSide = 2;
  const std::size_t cells = kSide * kSide;
  std::vector<float> rows(kImages * cells * kDim);
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = cells_[k % cells_.size()];
  std::vector<float> first(rows.size());
  for (std::size_t i = 0; i < kImages; ++i) {
    for (std::size_t c = 0; c < cells; ++c) {
      for (std::size_t d = 0; d < kDim; ++d) {
        first[(i * kDim + d) * cells + c] = rows[(i * cells + c) * kDim + d];
      }
    }
  }
  write_floats(at("C.npy"), {kImages, cells, kDim}, rows);
  const Json expected = evaluated().at("results");
  write_floats(at("C.npy"), {kImages, kSide, kSide, kDim}, rows);
  EXPECT_EQ(evaluated().at("results"), expected);
  EXPECT_NE(run(evaluate()).err.find("[images, rows, columns, dimensions]"), std::string::npos);
  write_floats(at("C.npy"), {kImages, kDim, kSide, kSide}, first);
  EXPECT_EQ(evaluated().at("results"), expected);
  const ProgramResult told = run(evaluate());
  EXPECT_NE(told.err.find("[images, dimensions, rows, columns]: 4 cells of 16 dimensions"),
            std::string::npos)
      << told.err;
  EXPECT_EQ(evaluated({"--layout", "nchw"}).at("results"), expected);
  EXPECT_TRUE(run(evaluate({"--layout", "nchw"})).err.empty()) << "what was asked for is not told";
}

TEST_F(EvaluateCommand, ArraysThatCannotBeToldApartNameTheLayoutOrTheTranspose) {
  // 4 rows, 4 columns or 4 dimensions?
  std::vector<float> cube(kImages * 64);
  for (std::size_t k = 0; k < cube.size(); ++k) cube[k] = cells_[k % cells_.size()];
  write_floats(at("C.npy"), {kImages, 4, 4, 4}, cube);
  const Arguments without_globals = {"evaluate", "--cells", "C.npy", "--labels", "L.npy"};
  expect_refused(without_globals, {"C.npy", "nchw", "--layout", ".transpose(0, 2, 3, 1)"});
  // Obeying "reshape it" once gave numbers that looked like a gain.
  write_floats(at("C.npy"), {kImages, kDim, kCells}, cells_);
  expect_refused(evaluate(), {"C.npy", ".transpose(0, 2, 1)"});
  // Without global vectors nothing contradicts that each image has 16 cells of 6 dimensions.
  const ProgramResult guessed = run(without_globals);
  EXPECT_EQ(guessed.exit_code, 0);
  EXPECT_EQ(
      guessed.err,
      "C.npy: [12, 16, 6] is read as [images, cells, dimensions]: 16 cells of 6 dimensions; if "
      "it is [images, dimensions, cells], transpose it with .transpose(0, 2, 1)\n");
  const Arguments sure = {"evaluate", "--cells", "C.npy", "--labels", "L.npy", "--layout", "nrd"};
  EXPECT_EQ(run(sure).err, "");
  write_floats(at("C.npy"), {kImages, 2048, 1}, std::vector<float>(kImages * 2048, 1.0f));
  expect_refused(without_globals, {"C.npy", "2048 cells", ".transpose(0, 2, 1)"});
}

TEST_F(EvaluateCommand, LabelsAreIntegersOfAnyWidthOrWords) {
  const Json expected = evaluated().at("results");
  std::vector<std::int32_t> narrow(labels_.begin(), labels_.end());
  write_bytes(at("L.npy"), npy("<i4", {kImages}, raw(narrow)));
  EXPECT_EQ(evaluated().at("results"), expected);
  // Numpy's U3: four bytes a letter, shorter words end in zeros.
  const std::vector<std::u32string> words = {U"pug", U"cat", U"\u00e4", U"ox"};
  std::u32string letters;
  for (std::size_t i = 0; i < kImages; ++i) {
    std::u32string word = words[i / 3];
    word.resize(3, U'\0');
    letters += word;
  }
  write_bytes(at("L.npy"), npy("<U3", {kImages},
                               {reinterpret_cast<const char*>(letters.data()),
                                letters.size() * sizeof(char32_t)}));
  EXPECT_EQ(evaluated().at("results"), expected);
  run_well(evaluate({"--json", "r.json", "--per-class"}));
  const Json classes = Json::parse(bytes_of(at("r.json"))).at("results")[0].at("classes");
  std::set<std::string> names;
  for (const Json& one : classes) names.insert(one.at("name"));
  EXPECT_EQ(names, (std::set<std::string>{"pug", "cat", "\u00e4", "ox"}));
}

TEST_F(EvaluateCommand, DoublesAreReadAsFloats) {
  const Json expected = evaluated().at("results");
  const std::vector<double> wide(cells_.begin(), cells_.end());
  write_bytes(at("C.npy"), npy("<f8", {kImages, kCells, kDim}, raw(wide)));
  EXPECT_EQ(evaluated().at("results"), expected);
}

}  // namespace
}  // namespace diml::test
