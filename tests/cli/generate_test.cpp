#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/grid_folder.h"

namespace diml::test {
namespace {

const std::vector<std::string> kEndings = {".cells.npy", ".globals.npy", ".labels.npy"};

class GenerateCommand : public GridFolder {
 protected:
  // Small creatures under the prefix, with `more` options.
  void generate(const std::string& prefix, const Arguments& more = {},
                const ProgramSettings& settings = {}) const {
    Arguments arguments = {"generate", "--images", "130", "--classes", "5",   "--grid",
                           "3",        "--dim",    "8",   "--out",     prefix};
    arguments.insert(arguments.end(), more.begin(), more.end());
    run_well(arguments, settings);
  }
};

TEST_F(GenerateCommand, WritesCellsGlobalsAndLabels) {
  generate("g");
  const std::vector<float> cells = read_floats(at("g.cells.npy"), {130, 9, 8});
  read_floats(at("g.globals.npy"), {130, 8});
  const NpyFile label_file(at("g.labels.npy"));
  ASSERT_EQ(label_file.type(), ArrayType::int64);
  ASSERT_EQ(label_file.shape(), (Shape{130}));
  std::vector<std::int64_t> labels(130);
  label_file.read_int64s(0, labels);
  EXPECT_EQ(std::set<std::int64_t>(labels.begin(), labels.end()).size(), 5u);
  for (std::size_t cell = 0; cell < 130 * 9; ++cell) {
    double square = 0.0;
    for (std::size_t d = 0; d < 8; ++d) square += std::pow(cells[cell * 8 + d], 2);
    ASSERT_NEAR(square, 1.0, 1e-5) << "cell " << cell;
  }
}

TEST_F(GenerateCommand, WritesTheSameBytesEveryTime) {
  generate("first");
  generate("second");
  for (const std::string& ending : kEndings) {
    EXPECT_EQ(bytes_of(at("first" + ending)), bytes_of(at("second" + ending))) << ending;
  }
}

TEST_F(GenerateCommand, WritesTheSameBytesWithAnyNumberOfThreads) {
  generate("one", {}, {.environment = {"DIML_THREADS=1"}});
  generate("three", {}, {.environment = {"DIML_THREADS=3"}});
  for (const std::string& ending : kEndings) {
    EXPECT_EQ(bytes_of(at("one" + ending)), bytes_of(at("three" + ending))) << ending;
  }
}

TEST_F(GenerateCommand, WritesOtherCreaturesForAnotherSeed) {
  generate("first");
  generate("other", {"--seed", "1"});
  EXPECT_NE(bytes_of(at("first.cells.npy")), bytes_of(at("other.cells.npy")));
}

TEST_F(GenerateCommand, PutsCellsIntoAConeWhenTheyShareADirection) {
  const auto first_with_last = [&](const std::string& prefix) {
    const std::vector<float> globals = read_floats(at(prefix + ".globals.npy"), {130, 8});
    double sum = 0.0;
    for (std::size_t d = 0; d < 8; ++d) sum += globals[d] * globals[129 * 8 + d];
    return sum;
  };
  generate("spread");
  generate("cone", {"--common", "5"});
  EXPECT_GT(first_with_last("cone"), 0.8);
  EXPECT_GT(first_with_last("cone"), first_with_last("spread"));
}

TEST_F(GenerateCommand, MakesClassesThatReRankingTellsApart) {
  generate("g");
  const auto json = nlohmann::json::parse(
      run_well({"evaluate", "--cells", "g.cells.npy", "--globals", "g.globals.npy", "--labels",
                "g.labels.npy", "--grid", "3", "--rerank", "0,100", "--json", "-"}));
  const double cosine = json.at("results")[0].at("map_at_r");
  const double structural = json.at("results")[1].at("map_at_r");
  EXPECT_GT(structural, cosine);
}

}  // namespace
}  // namespace diml::test
