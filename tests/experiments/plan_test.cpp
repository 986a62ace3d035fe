#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "diml/error.h"
#include "experiments/run_experiments.h"
#include "provenance.h"
#include "versions.h"

namespace diml::experiments {
namespace {

class Planned : public testing::Test {
 protected:
  Planned() {
    params_.dataset = "folder";
    params_.root = photos("here", 4);
    params_.results = folder_.path() + "/results";
    params_.runs = folder_.path() + "/runs";
  }

  // A plan depends on names and sizes of photos, not on their pixels.
  std::string photos(const std::string& name, int classes) const {
    const std::string root = folder_.path() + "/" + name;
    for (int k = 0; k < classes; ++k) {
      const std::string folder = root + "/" + std::to_string(k);
      std::filesystem::create_directories(folder);
      for (const char* photo : {"/a.jpg", "/b.jpg"}) std::ofstream(folder + photo) << "pixels";
    }
    return root;
  }

  void table(const std::string& name, const std::string& text) {
    const std::string path = folder_.path() + "/" + name + ".yaml";
    std::ofstream(path) << text;
    params_.files.push_back(path);
  }

  // Writes the result as a run of the current plan would.
  void put(const std::string& experiment, const std::string& row, const std::string& column,
           double map_at_r) {
    for (const PlannedRun& run : make_plan(params_).runs) {
      for (const PlannedResult& planned : run.results) {
        if (planned.experiment != experiment || planned.row != row || planned.column != column) {
          continue;
        }
        Result result;
        result.experiment = experiment;
        result.dataset = params_.dataset;
        result.row = row;
        result.column = column;
        result.metrics = {{"p_at_1", 90.0 - map_at_r}, {"map_at_r", map_at_r}};
        result.protocol = planned.protocol;
        result.settings = run.network.settings;
        result.versions = merged(evaluation_versions(planned.protocol, planned.metric_family),
                                 run.network.versions);
        for (const auto& [part, version] : older_) {
          if (result.versions.contains(part)) result.versions[part] = version;
        }
        result.data = run.network.data;
        result.start_weights = kRandomWeights;
        write_result(result_path(params_.results, params_.dataset, experiment, row, column,
                                 planned.other_seed),
                     result);
        return;
      }
    }
    FAIL() << "no result is planned for " << row << ", " << column;
  }

  TemporaryFolder folder_;
  RunParams params_;
  Settings older_{};  // versions of parts in the results of put()
};

constexpr const char* kTwoRows =
    "settings: {epochs: 2}\nrows: {A: {loss.name: margin}, B: {loss.name: ms}}\n"
    "columns: {plain: {rerank: 0}, deep: {rerank: 5}}\n";

TEST_F(Planned, ExistingResultsAreDone) {
  table("t", kTwoRows);
  Plan plan = make_plan(params_);
  EXPECT_EQ(plan.total, 4u);
  EXPECT_EQ(plan.done, 0u);
  ASSERT_EQ(plan.runs.size(), 2u);
  EXPECT_EQ(plan.runs[0].results.size(), 2u);
  EXPECT_EQ(plan.runs[0].network.settings.at("epochs"), "2");
  EXPECT_EQ(plan.runs[0].network.settings.at("dataset.name"), "folder");

  put("t", "A", "plain", 1.0);
  put("t", "A", "deep", 1.0);
  put("t", "B", "deep", 1.0);
  plan = make_plan(params_);
  EXPECT_EQ(plan.done, 3u);
  ASSERT_EQ(plan.runs.size(), 1u);
  ASSERT_EQ(plan.runs[0].results.size(), 1u);
  EXPECT_EQ(plan.runs[0].results[0].row, "B");
  EXPECT_EQ(plan.runs[0].results[0].column, "plain");
}

TEST_F(Planned, ResultsOfAnOlderVersionAreStale) {
  table("t",
        "settings: {epochs: 2}\nrows: {A: {loss.name: margin}, B: {loss.name: softmax}}\n"
        "columns: {plain: {rerank: 0}, cut: {rerank: 5, cut_from: 10}}\n");
  older_ = {{"cut", "1"}};
  put("t", "A", "plain", 1.0);
  put("t", "A", "cut", 1.0);
  Plan plan = make_plan(params_);
  EXPECT_EQ(plan.done, 1u);
  EXPECT_EQ(plan.outdated, 0u);
  ASSERT_EQ(plan.stale.size(), 1u);
  EXPECT_TRUE(plan.stale.begin()->first.starts_with("cut 1, now 2"));
  EXPECT_EQ(plan.stale.begin()->second, 1u);

  // Only losses with class vectors depend on their initialisation.
  older_ = {{"proxies", "1"}};
  put("t", "A", "cut", 1.0);
  put("t", "B", "plain", 1.0);
  plan = make_plan(params_);
  EXPECT_EQ(plan.done, 2u);
  ASSERT_EQ(plan.stale.size(), 1u);
  EXPECT_TRUE(plan.stale.begin()->first.starts_with("proxies 1, now 2"));
}

TEST_F(Planned, ARunOfAnotherVersionHasAnotherFolder) {
  NetworkSpec network{
      .dataset = "folder", .data = "d", .start_weights = "s", .settings = {{"epochs", "2"}}};
  network.versions = training_versions(network.settings);
  const std::string now = run_name(network);
  network.versions["projection"] = "1";
  EXPECT_NE(run_name(network), now);
}

TEST_F(Planned, AResultWithoutVersionsHasVersionOne) {
  table("t", "settings: {epochs: 2}\nrows: {A: {loss.name: ms}}\ncolumns: {plain: {rerank: 0}}\n");
  put("t", "A", "plain", 1.0);
  const std::string path = result_path(params_.results, params_.dataset, "t", "A", "plain");
  Result result = read_result(path);
  EXPECT_EQ(result.versions.at("projection"), "2");
  result.versions.clear();
  write_result(path, result);
  const Plan plan = make_plan(params_);
  EXPECT_EQ(plan.done, 0u);
  ASSERT_EQ(plan.stale.size(), 1u);
  EXPECT_TRUE(plan.stale.begin()->first.starts_with("projection 1, now 2"));
}

TEST_F(Planned, ProjectionsOfUntrainedWeightsAreNetworksOfTheirOwn) {
  params_.model = folder_.path() + "/weights";
  std::ofstream(params_.model) << "weights";
  table("t",
        "settings: {model.dim: 64}\nrows:\n  plain: {trained: false}\n"
        "  pca: {trained: false, projection: pca}\n"
        "  random: {trained: false, projection: random, model.dim: 32}\n"
        "columns: {c: {rerank: 0}}\n");
  const Plan plan = make_plan(params_);
  ASSERT_EQ(plan.runs.size(), 3u);
  EXPECT_EQ(plan.runs[0].network.projection, "");
  EXPECT_EQ(plan.runs[1].network.projection, "pca 64");
  EXPECT_EQ(plan.runs[2].network.projection, "random 32");
  EXPECT_NE(plan.runs[0].name, plan.runs[1].name);
  EXPECT_NE(plan.runs[1].name, plan.runs[2].name);
}

TEST_F(Planned, ATrainedRowCannotHaveAFixedProjection) {
  table("t", "rows: {A: {projection: pca}}\ncolumns: {c: {rerank: 0}}\n");
  try {
    make_plan(params_);
    FAIL() << "a trained row has a projection";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("needs trained: false"), std::string::npos);
  }
}

TEST_F(Planned, ResultsOfOtherSettingsAreOutdated) {
  table("t", kTwoRows);
  put("t", "A", "plain", 1.0);
  put("t", "B", "plain", 1.0);
  EXPECT_EQ(make_plan(params_).done, 2u);
  EXPECT_EQ(make_plan(params_).outdated, 0u);
  params_.files.clear();
  table("t",
        "settings: {epochs: 2}\nrows: {A: {loss.name: margin, epochs: 3}, B: {loss.name: ms}}\n"
        "columns: {plain: {rerank: 7}, deep: {rerank: 5}}\n");
  const Plan other_protocol = make_plan(params_);
  EXPECT_EQ(other_protocol.done, 0u);
  EXPECT_EQ(other_protocol.outdated, 2u);
  put("t", "B", "plain", 1.0);
  const Plan other_training = make_plan(params_);
  EXPECT_EQ(other_training.done, 1u);
  EXPECT_EQ(other_training.outdated, 1u);
  ASSERT_EQ(other_training.runs.size(), 2u);
  EXPECT_EQ(other_training.runs[0].results.size(), 2u);
  params_.root = photos("elsewhere", 4);
  params_.device = "cuda";
  EXPECT_EQ(make_plan(params_).done, 1u);
}

TEST_F(Planned, OtherDataMakeAnotherNetwork) {
  table("t", kTwoRows);
  const std::string name = make_plan(params_).runs[0].name;
  put("t", "A", "plain", 1.0);
  params_.root = photos("elsewhere", 4);
  EXPECT_EQ(make_plan(params_).done, 1u);
  params_.root = photos("others", 5);
  EXPECT_EQ(make_plan(params_).done, 0u);
  EXPECT_EQ(make_plan(params_).outdated, 1u);
  EXPECT_NE(make_plan(params_).runs[0].name, name);
  params_.root = folder_.path() + "/nowhere";
  EXPECT_THROW(make_plan(params_), Error);
}

TEST_F(Planned, ATableCannotSetWhatTheRunSets) {
  table("t", kTwoRows);
  for (const char* setting :
       {"model.weights", "dataset.root", "dataset.name", "device", "threads"}) {
    params_.overrides = {{setting, "1"}};
    EXPECT_THROW(make_plan(params_), Error) << setting;
  }
  params_.overrides.clear();
  table("u", "rows: {A: {model.weights: resnet50}}\ncolumns: {plain: {}}\n");
  EXPECT_THROW(make_plan(params_), Error);
}

TEST_F(Planned, EvaluationOnTrainedClassesIsRefused) {
  table("t", "rows: {A: {loss.name: margin}}\ncolumns: {plain: {split: val}}\n");
  EXPECT_THROW(make_plan(params_), Error);
  params_.overrides["evaluate.select"] = "val";
  EXPECT_EQ(make_plan(params_).total, 1u);
}

TEST_F(Planned, RunsAreNamedByTheirNetworksNotByRows) {
  table("t", "rows: {a/b: {}, ../up: {}}\ncolumns: {plain: {}}\n");
  const Plan plan = make_plan(params_);
  ASSERT_EQ(plan.runs.size(), 1u);
  EXPECT_EQ(plan.runs[0].name.find('/'), std::string::npos);
}

TEST_F(Planned, TwoTablesOfOneNameAreRefused) {
  table("t", kTwoRows);
  params_.files.push_back(params_.files.front());
  EXPECT_THROW(make_plan(params_), Error);
}

TEST_F(Planned, AnotherSeedIsStoredBesideTheFirst) {
  table("t", kTwoRows);
  put("t", "A", "plain", 1.0);
  params_.overrides["seed"] = "1";
  Plan plan = make_plan(params_);
  EXPECT_EQ(plan.done, 0u);
  EXPECT_EQ(plan.outdated, 0u);
  EXPECT_EQ(plan.runs[0].results[0].other_seed, "1");
  put("t", "A", "plain", 2.0);
  EXPECT_EQ(make_plan(params_).done, 1u);
  params_.overrides["seed"] = "01";
  EXPECT_EQ(make_plan(params_).done, 1u);
  params_.overrides["seed"] = "0";
  plan = make_plan(params_);
  EXPECT_EQ(plan.runs[0].results[0].other_seed, "");
  params_.overrides.clear();
  EXPECT_EQ(make_plan(params_).done, 1u);
}

TEST_F(Planned, TablesShareNetworksWithTheSameSettings) {
  table("t", kTwoRows);
  table("u",
        "settings: {epochs: 2}\nrows: {Same: {loss.name: margin}, Other: {loss.name: margin, "
        "epochs: 3}}\ncolumns: {fine: {grid: 7}}\n");
  const Plan plan = make_plan(params_);
  EXPECT_EQ(plan.total, 6u);
  ASSERT_EQ(plan.runs.size(), 3u);
  EXPECT_EQ(plan.runs[0].results.size(), 3u);
  EXPECT_EQ(plan.runs[0].results[2].experiment, "u");
  EXPECT_EQ(plan.runs[2].results[0].row, "Other");
  EXPECT_NE(plan.runs[0].name, plan.runs[2].name);
}

TEST_F(Planned, ARunMayContinueElsewhereButNotWithOtherSettings) {
  table("t", kTwoRows);
  const std::string name = make_plan(params_).runs[0].name;
  params_.root = photos("elsewhere", 4);
  params_.threads = 3;
  params_.device = "cuda";
  params_.overrides["cache_mb"] = "7";
  EXPECT_EQ(make_plan(params_).runs[0].name, name);
  params_.overrides["seed"] = "1";
  EXPECT_NE(make_plan(params_).runs[0].name, name);
}

TEST_F(Planned, TwoResultsNeverShareAFile) {
  table("t", "rows: {A-B: {}, A B: {}}\ncolumns: {plain: {}}\n");
  EXPECT_THROW(make_plan(params_), Error);
}

TEST_F(Planned, OnlySomeRows) {
  table("t", kTwoRows);
  params_.only = {"B"};
  const Plan plan = make_plan(params_);
  EXPECT_EQ(plan.total, 2u);
  ASSERT_EQ(plan.runs.size(), 1u);
  params_.only = {"C"};
  EXPECT_THROW(make_plan(params_), Error);
}

TEST_F(Planned, AChoiceWaitsForAllResultsAndTakesTheBest) {
  table("t",
        "settings: {evaluate.select: val}\nrows: {A: {loss.name: margin}, B: {loss.name: ms, "
        "epochs: 4}}\ncolumns: {coarse: {split: val}, fine: {split: val, grid: 7}}\n"
        "choice: {best: {evaluate.select: last}}\n");
  put("t", "A", "coarse", 50.0);
  put("t", "A", "fine", 51.0);
  put("t", "B", "coarse", 49.0);
  EXPECT_EQ(make_plan(params_).total, 5u);
  EXPECT_EQ(make_plan(params_).waiting, std::vector<std::string>{"t, best"});
  put("t", "B", "fine", 53.0);
  const Plan plan = make_plan(params_);
  EXPECT_EQ(plan.total, 5u);
  EXPECT_EQ(plan.done, 4u);
  EXPECT_TRUE(plan.waiting.empty());
  ASSERT_EQ(plan.trainings.size(), 4u);  // either may be chosen
  EXPECT_EQ(plan.trainings[3].name, "t, best by B");
  ASSERT_EQ(plan.runs.size(), 1u);
  const PlannedRun& run = plan.runs[0];
  EXPECT_EQ(run.network.settings.at("loss.name"), "ms");
  EXPECT_EQ(run.network.settings.at("epochs"), "4");
  EXPECT_EQ(run.network.settings.at("evaluate.select"), "last");
  ASSERT_EQ(run.results.size(), 1u);
  EXPECT_EQ(run.results[0].row, "best");
  EXPECT_EQ(run.results[0].column, "test");
  EXPECT_EQ(run.results[0].protocol.split, EvaluationSplit::test);
  EXPECT_EQ(run.results[0].protocol.grid, 7u);
  EXPECT_EQ(run.results[0].chosen, "B, fine");
  put("t", "best", "test", 60.0);
  EXPECT_TRUE(make_plan(params_).runs.empty());
}

TEST_F(Planned, AnUntrainedRowNeedsWeights) {
  table("t", "rows: {A: {trained: false}}\ncolumns: {plain: {}}\n");
  EXPECT_THROW(make_plan(params_), Error);
}

// The jobs are programs that every system has.
TEST(Jobs, AllRunAndReportTheirStatus) {
  const TemporaryFolder folder;
  std::vector<Job> jobs;
  for (int k = 0; k < 5; ++k) {
    jobs.push_back(
        {std::to_string(k),
         {"/bin/sh", "-c", "echo said " + std::to_string(k) + "; exit " + std::to_string(k)},
         folder.path() + "/" + std::to_string(k)});
  }
  std::map<std::string, int> ends;
  run_jobs(jobs, 2, {}, [&](const FinishedJob& end) { ends[end.name] = end.status; });
  EXPECT_EQ(ends, (std::map<std::string, int>{{"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}, {"4", 4}}));
  std::string said;
  std::getline(std::ifstream(folder.path() + "/3"), said);
  EXPECT_EQ(said, "said 3");
}

TEST(Jobs, AStopInterruptsRunningJobsAndStartsNoOthers) {
  const TemporaryFolder folder;
  const std::string begun = folder.path() + "/begun";
  const std::vector<std::string> waits = {
      "/bin/sh", "-c", "trap 'exit 7' INT; touch " + begun + "; while true; do sleep 0.01; done"};
  const std::vector<Job> jobs = {{"first", waits, folder.path() + "/log"},
                                 {"second", {"/bin/sh", "-c", "exit 0"}, folder.path() + "/log2"}};
  std::map<std::string, int> ends;
  run_jobs(
      jobs, 1, [&] { return std::ifstream(begun).good(); },
      [&](const FinishedJob& end) { ends[end.name] = end.status; });
  EXPECT_EQ(ends, (std::map<std::string, int>{{"first", 7}}));
}

TEST(Jobs, AMissingProgramIsAnErrorAndEndsTheOthers) {
  const TemporaryFolder folder;
  const std::string ended = folder.path() + "/ended";
  const std::vector<std::string> waits = {
      "/bin/sh", "-c", "trap 'touch " + ended + "; exit 7' INT; while true; do sleep 0.01; done"};
  EXPECT_THROW(run_jobs({{"waits", waits, folder.path() + "/log"},
                         {"x", {"/bin/true"}, folder.path() + "/no/such/folder/log"}},
                        2, {}, [](const FinishedJob&) {}),
               Error);
  EXPECT_THROW(run_jobs({{"x", {"/no/such/program"}, folder.path() + "/log"}}, 1, {},
                        [](const FinishedJob&) {}),
               Error);
}

}  // namespace
}  // namespace diml::experiments
