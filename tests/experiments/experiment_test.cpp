#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "diml/error.h"
#include "experiments/experiments.h"

namespace diml::experiments {
namespace {

class ExperimentFile : public testing::Test {
 protected:
  Experiment read(const std::string& text) {
    std::ofstream(folder_.path() + "/table.yaml") << text;
    return read_experiment(folder_.path() + "/table.yaml");
  }

  void expect_refused(const std::string& text, const std::string& why) {
    try {
      read(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  }

  TemporaryFolder folder_;
};

constexpr const char* kRows = "rows: {A: {loss.name: margin}}\n";
constexpr const char* kColumns = "columns: {plain: {rerank: 0}}\n";

TEST_F(ExperimentFile, HasRowsColumnsAndThePapersValues) {
  std::ofstream(folder_.path() + "/recipe.yaml") << "epochs: 60\nmodel: {dim: 128}\n";
  const Experiment table = read(
      "title: A table\nplot: pairs\nsettings: {epochs: 3}\nrecipe: recipe.yaml\n"
      "rows:\n  Z: {loss: {name: ms}, schedule.steps: [1, 2]}\n  A: {trained: false}\n"
      "columns:\n  plain: {rerank: 0}\n  fine: {grid: 7, lambda: 0.1, mass: 0.8, marginals: "
      "uniform}\n"
      "choice: {best: {epochs: 9}}\n"
      "paper: {cub200: {Z: {fine: [60.5, ~, 20]}}}\n");
  EXPECT_EQ(table.name, "table");
  EXPECT_EQ(table.title, "A table");
  EXPECT_EQ(table.settings, (Settings{{"epochs", "3"}, {"model.dim", "128"}}));
  ASSERT_EQ(table.rows.size(), 2u);  // in the file's order
  EXPECT_EQ(table.rows[0].name, "Z");
  EXPECT_EQ(table.rows[0].settings, (Settings{{"loss.name", "ms"}, {"schedule.steps", "1,2"}}));
  EXPECT_FALSE(table.rows[1].trained);
  EXPECT_TRUE(table.rows[1].settings.empty());
  ASSERT_EQ(table.columns.size(), 2u);
  EXPECT_EQ(table.columns[0].protocol.rerank, 0u);
  EXPECT_EQ(table.columns[1].protocol.grid, 7u);
  EXPECT_EQ(table.columns[1].protocol.lambda, 0.1);
  EXPECT_EQ(table.columns[1].protocol.mass, 0.8);
  EXPECT_EQ(table.columns[0].protocol.mass, 1.0);
  EXPECT_EQ(table.columns[1].protocol.rerank, 100u);
  EXPECT_EQ(table.columns[1].protocol.marginals, MarginalRule::uniform);
  EXPECT_EQ(table.plot, PlotKind::pairs);
  EXPECT_EQ(table.choice->settings.at("epochs"), "9");
  EXPECT_EQ(table.paper.at({"cub200", "Z", "fine"}),
            (std::map<std::string, double>{{"p_at_1", 60.5}, {"map_at_r_paper", 20.0}}));
}

TEST_F(ExperimentFile, ErrorsNameTheLine) {
  expect_refused(kColumns, "has no rows");
  expect_refused(kRows, "has no columns");
  expect_refused("titel: x\n", "table.yaml:1: an experiment has no 'titel': the nearest is title");
  expect_refused(std::string(kRows) + "columns:\n  a: {gird: 4}\n",
                 "table.yaml:3: a column has no 'gird': the nearest is grid");
  expect_refused(std::string(kRows) + "columns:\n  a: {grid: x}\n", "grid cannot be 'x'");
  expect_refused(std::string(kRows) + "columns:\n  a: {mass: x}\n", "mass cannot be 'x'");
  expect_refused(std::string(kRows) + "columns:\n  a: {mass: 2}\n", "0.01 to 1");
  expect_refused(std::string(kRows) + "columns:\n  a: {split: train}\n", "there are test and val");
  expect_refused(std::string(kRows) + kColumns + "paper: {cub200: {B: {plain: [1, 2, 3]}}}\n",
                 "a row 'B', which the table has not: the nearest is A");
  expect_refused(std::string(kRows) + kColumns + "paper: {cub200: {A: {plain: [1, 2]}}}\n",
                 "P@1, RP and MAP@R");
  expect_refused(std::string(kRows) + kColumns + "plot: bars\n", "plot cannot be 'bars'");
  expect_refused(std::string(kRows) + kColumns + "quantity: parts\nchoice: {best: {}}\n",
                 "a choice is made by MAP@R");
  expect_refused(std::string(kRows) + kColumns + "choice: {a: {}, b: {}}\n", "two choices");
  expect_refused(std::string(kRows) + kColumns + "paper: {cub200: {A: {plain: [x, 2, 3]}}}\n",
                 "percentages");
  expect_refused(std::string(kRows) + kColumns + "paper: {cub200: {A: {plain: [1, 2, .inf]}}}\n",
                 "percentages");
  expect_refused("rows: {A: margin}\n", "table.yaml:1: is not a map");
  expect_refused(std::string(kRows) + "columns: {a: 100}\n", "is not a map");
  expect_refused(std::string(kRows) + kColumns + "settings: margin\n", "is not a map");
  expect_refused("rows: [a\n", "is not YAML");
}

TEST_F(ExperimentFile, AnInvalidProtocolIsRefusedBeforeTraining) {
  const auto expect_both = [&](const std::string& protocol, const std::string& where,
                               const std::string& why) {
    expect_refused(std::string(kRows) + "columns: {odd: {" + protocol + "}}\n", where);
    expect_refused(std::string(kRows) + "columns: {odd: {" + protocol + "}}\n", why);
  };
  const auto unreadable = [&](const std::string& protocol, const std::string& why) {
    expect_both(protocol, "table.yaml:2: ", why);
  };
  unreadable("marginals: sideways", "sideways");
  unreadable("pooling: foo", "foo");
  unreadable("crop: abc", "crop cannot be 'abc': it takes a whole number of at least 0");
  const auto refused = [&](const std::string& protocol, const std::string& why) {
    expect_both(protocol, "table.yaml: the column 'odd': ", why);
  };
  refused("grid: 0", "grid is 0");
  refused("lambda: -1", "lambda");
  refused("crop: 999999", "at most 4096");
  refused("crop: 300, resize: 256", "does not fit");
  refused("rerank: 100, cut_from: 50", "cut_from is 50");
  refused("global_weight: -1", "weights");
  refused("global_weight: 0, structural_weight: 0", "weights");
  refused("setting: best", "setting is 'best'");
  refused("setting: calibrated, cut_from: 500", "setting");
  expect_refused(std::string(kRows) + "quantity: parts\ncolumns: {odd: {method: foo}}\n",
                 "there is no method 'foo': take one of 'transport, cross_correlation'");
}

TEST_F(ExperimentFile, EveryTableOfThePaperCanBeRead) {
  std::size_t tables = 0;
  for (const auto& entry : std::filesystem::directory_iterator(DIML_EXPERIMENTS)) {
    if (entry.path().extension() != ".yaml") continue;
    ++tables;
    const Experiment table = read_experiment(entry.path().string());
    EXPECT_FALSE(table.title.empty()) << entry.path();
    EXPECT_EQ(table.settings.at("sampler.batch"), "112") << entry.path();  // the shared recipe
  }
  EXPECT_GE(tables, 8u);
  const Experiment main = read_experiment(DIML_EXPERIMENTS "/main.yaml");
  ASSERT_EQ(main.rows.size(), 17u);
  for (const char* dataset : {"cub200", "cars196", "sop"}) {
    for (const Row& row : main.rows) {
      const MetricValues& baseline = main.paper.at({dataset, row.name, "baseline"});
      const MetricValues& structural = main.paper.at({dataset, row.name, "structural"});
      for (const char* metric : {"p_at_1", "r_precision_paper", "map_at_r_paper"}) {
        // In the paper every method gains, on every data set.
        EXPECT_GT(structural.at(metric), baseline.at(metric))
            << dataset << " " << row.name << " " << metric;
      }
    }
  }
}

TEST_F(ExperimentFile, AResultIsReadAsItWasWritten) {
  Result result;
  result.experiment = "main";
  result.dataset = "cub200";
  result.row = "Triplet-R, D = 64";
  result.column = "K = 10";
  result.metrics = {{"p_at_1", 61.2345678901234567}};
  result.images = 5924;
  result.protocol.grid = 7;
  result.protocol.crop = 256;
  result.protocol.marginals = MarginalRule::uniform;
  result.protocol.mass = 0.7;
  result.protocol.split = EvaluationSplit::val;
  result.settings = {{"epochs", "60"}};
  result.seed = "0";
  result.epochs = 60;
  result.epoch = 50;
  result.weights = "aa";
  result.start_weights = "bb";
  result.commit = "cc";
  result.hardware = "dd";
  result.train_seconds = 90.5;
  result.evaluate_seconds = 1.25;
  result.chosen = "a, b";
  const std::string path =
      result_path(folder_.path(), result.dataset, result.experiment, result.row, result.column);
  EXPECT_EQ(path, folder_.path() + "/cub200/main/triplet_r_d_64.k_10.json");
  write_result(path, result);
  const Result back = read_result(path);
  EXPECT_EQ(back.metrics, result.metrics);
  EXPECT_EQ(back.settings, result.settings);
  EXPECT_EQ(back.protocol, result.protocol);
  EXPECT_EQ(back.row, result.row);
  EXPECT_EQ(back.epoch, 50u);
  EXPECT_EQ(back.chosen, "a, b");
  EXPECT_EQ(back.train_seconds, 90.5);
  std::ofstream(path) << "{}";
  EXPECT_THROW(read_result(path), Error);
}

// The format of the files: names of fields, their order, digits.
TEST_F(ExperimentFile, ResultsOfTheRepositoryAreWrittenAsTheyAreRead) {
  const auto text_of = [](const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  std::size_t results = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(DIML_EXPERIMENTS "/results/cub200/interpretability")) {
    ++results;
    write_result(folder_.path() + "/result.json", read_result(entry.path().string()));
    EXPECT_EQ(text_of(folder_.path() + "/result.json"), text_of(entry.path())) << entry.path();
  }
  EXPECT_GE(results, 30u);
}

}  // namespace
}  // namespace diml::experiments
