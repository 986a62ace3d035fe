#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "diml/error.h"
#include "diml/experiments.h"

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
      ADD_FAILURE() << "taken: " << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  }

  TemporaryFolder folder_;
};

constexpr const char* kRows = "rows: {A: {loss.name: margin}}\n";
constexpr const char* kColumns = "columns: {plain: {rerank: 0}}\n";

TEST_F(ExperimentFile, HasRowsColumnsAndThePapersNumbers) {
  std::ofstream(folder_.path() + "/recipe.yaml") << "epochs: 60\nmodel: {dim: 128}\n";
  const Experiment table = read(
      "title: A table\nplot: pairs\nsettings: {epochs: 3}\nrecipe: recipe.yaml\n"
      "rows:\n  Z: {loss: {name: ms}, schedule.steps: [1, 2]}\n  A: {trained: false}\n"
      "columns:\n  plain: {rerank: 0}\n  fine: {grid: 7, lambda: 0.1, marginals: uniform}\n"
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
  EXPECT_EQ(table.columns[0].look.rerank, 0u);
  EXPECT_EQ(table.columns[1].look.grid, 7u);
  EXPECT_EQ(table.columns[1].look.lambda, 0.1);
  EXPECT_EQ(table.columns[1].look.rerank, 100u);
  EXPECT_EQ(table.choice->settings.at("epochs"), "9");
  EXPECT_EQ(table.paper.at("cub200").at("Z").at("fine"),
            (std::map<std::string, double>{{"p_at_1", 60.5}, {"map_at_r_paper", 20.0}}));
}

TEST_F(ExperimentFile, ThatMakesNoSenseIsRefusedWithItsLine) {
  expect_refused(kColumns, "has no rows");
  expect_refused(kRows, "has no columns");
  expect_refused("titel: x\n", "table.yaml:1: an experiment has no 'titel': the nearest is title");
  expect_refused(std::string(kRows) + "columns:\n  a: {gird: 4}\n",
                 "table.yaml:3: a column has no 'gird': the nearest is grid");
  expect_refused(std::string(kRows) + "columns:\n  a: {grid: x}\n", "grid cannot be 'x'");
  expect_refused(std::string(kRows) + "columns:\n  a: {split: train}\n", "there are test and val");
  expect_refused(std::string(kRows) + kColumns + "paper: {cub200: {B: {plain: [1, 2, 3]}}}\n",
                 "a row 'B': the nearest there is is A");
  expect_refused(std::string(kRows) + kColumns + "paper: {cub200: {A: {plain: [1, 2]}}}\n",
                 "P@1, RP and MAP@R");
  expect_refused(std::string(kRows) + kColumns + "plot: bars\n", "plot cannot be 'bars'");
  expect_refused(std::string(kRows) + kColumns + "quantity: parts\nchoice: {best: {}}\n",
                 "a choice goes by MAP@R");
  expect_refused(std::string(kRows) + kColumns + "choice: {a: {}, b: {}}\n", "two choices");
  expect_refused(std::string(kRows) + kColumns + "paper: {cub200: {A: {plain: [x, 2, 3]}}}\n",
                 "percentages");
  expect_refused(std::string(kRows) + kColumns + "paper: {cub200: {A: {plain: [1, 2, .inf]}}}\n",
                 "percentages");
  expect_refused("rows: {A: margin}\n", "table.yaml:1: is no map");
  expect_refused(std::string(kRows) + "columns: {a: 100}\n", "is no map");
  expect_refused(std::string(kRows) + kColumns + "settings: margin\n", "is no map");
  expect_refused("rows: [a\n", "is no YAML");
}

TEST_F(ExperimentFile, AWayToLookThatCannotBeIsRefusedBeforeAnythingIsTrained) {
  const auto refused = [&](const std::string& look, const std::string& why) {
    expect_refused(std::string(kRows) + "columns: {odd: {" + look + "}}\n",
                   "table.yaml: the column 'odd': ");
    expect_refused(std::string(kRows) + "columns: {odd: {" + look + "}}\n", why);
  };
  refused("marginals: sideways", "sideways");
  refused("pooling: foo", "foo");
  refused("grid: 0", "grid is 0");
  refused("lambda: -1", "lambda");
  refused("crop: abc", "crop cannot be 'abc'");
  refused("crop: 999999", "at most 4096");
  refused("crop: 300, resize: 256", "does not fit");
  refused("rerank: 100, cut_from: 50", "cut_from is 50");
  refused("global_weight: -1", "weights");
  refused("global_weight: 0, structural_weight: 0", "weights");
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
      const auto& numbers = main.paper.at(dataset).at(row.name);
      for (const char* number : {"p_at_1", "r_precision_paper", "map_at_r_paper"}) {
        // The paper: every method gains, on every data set.
        EXPECT_GT(numbers.at("structural").at(number), numbers.at("baseline").at(number))
            << dataset << " " << row.name << " " << number;
      }
    }
  }
}

TEST_F(ExperimentFile, ACellComesBackAsItWasWritten) {
  Cell cell;
  cell.experiment = "main";
  cell.dataset = "cub200";
  cell.row = "Triplet-R, D = 64";
  cell.column = "K = 10";
  cell.numbers = {{"p_at_1", 61.2345678901234567}};
  cell.images = 5924;
  cell.look = {{"grid", "4"}};
  cell.settings = {{"epochs", "60"}};
  cell.seed = "0";
  cell.epochs = 60;
  cell.epoch = 50;
  cell.weights = "aa";
  cell.start_weights = "bb";
  cell.commit = "cc";
  cell.hardware = "dd";
  cell.train_seconds = 90.5;
  cell.look_seconds = 1.25;
  cell.chosen = "a, b";
  const std::string path =
      cell_path(folder_.path(), cell.dataset, cell.experiment, cell.row, cell.column);
  EXPECT_EQ(path, folder_.path() + "/cub200/main/triplet_r_d_64.k_10.json");
  write_cell(path, cell);
  const Cell back = read_cell(path);
  EXPECT_EQ(back.numbers, cell.numbers);
  EXPECT_EQ(back.settings, cell.settings);
  EXPECT_EQ(back.look, cell.look);
  EXPECT_EQ(back.row, cell.row);
  EXPECT_EQ(back.epoch, 50u);
  EXPECT_EQ(back.chosen, "a, b");
  EXPECT_EQ(back.train_seconds, 90.5);
  std::ofstream(path) << "{}";
  EXPECT_THROW(read_cell(path), Error);
}

}  // namespace
}  // namespace diml::experiments
