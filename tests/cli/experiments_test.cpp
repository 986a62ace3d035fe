// Tables are trained, evaluated, stopped and reported by the program itself, on eight classes of
// critters.

#include <csignal>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/train_folder.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTable =
    "title: Two methods\n"
    "plot: pairs\n"
    "settings:\n"
    "  {sampler.batch: 8, model.dim: 16, evaluate.rerank: 0, evaluate.select: last, epochs: 2,\n"
    "   cache_mb: 64}\n"
    "rows:\n"
    "  Margin: {loss.name: margin}\n"
    "  Blended: {loss.name: margin, measure.kind: blended}\n"
    "columns:\n"
    "  baseline: {rerank: 0}\n"
    "  structural: {rerank: 5, grid: 2}\n"
    "paper:\n"
    "  critters: {Margin: {baseline: [50, 30, 20]}}\n";

class Experiments : public TrainFolder {
 protected:
  Experiments() {
    fs::create_directories(at("tables"));
    put_table(kTable);
  }

  void put_table(const std::string& text) const { std::ofstream(at("tables/two.yaml")) << text; }

  static Arguments run_tables(const Arguments& more = {}, const std::string& threads = "2") {
    Arguments arguments = {"experiments", "run",      "tables/two.yaml", "--dataset", "critters",
                           "--root",      "critters", "--results",       "results",   "--threads",
                           threads};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  nlohmann::json result_of(const std::string& row, const std::string& column) const {
    return nlohmann::json::parse(
        bytes_of(at("results/critters/two/" + row + "." + column + ".json")));
  }
};

TEST_F(Experiments, AreTrainedEvaluatedAndReported) {
  const ProgramResult result = run(run_tables());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("4 of 4 results are there\n"), std::string::npos) << result.out;
  const nlohmann::json plain = result_of("margin", "baseline");
  const nlohmann::json blended = result_of("blended", "structural");
  EXPECT_EQ(plain["epochs"], 2);
  EXPECT_EQ(plain["seed"], "0");
  EXPECT_EQ(plain["start_weights"], "random");
  EXPECT_EQ(plain["weights"].get<std::string>().size(), 64u);
  EXPECT_NE(plain["weights"], blended["weights"]);
  EXPECT_EQ(plain["weights"], result_of("margin", "structural")["weights"]);
  EXPECT_FALSE(plain["commit"].get<std::string>().empty());
  EXPECT_FALSE(plain["hardware"].get<std::string>().empty());
  EXPECT_GT(plain["seconds"]["train"], 0.0);
  EXPECT_EQ(plain["images"], 24);
  EXPECT_EQ(blended["settings"]["measure.kind"], "blended");
  EXPECT_FALSE(plain["settings"].contains("dataset.root"));

  // The same network by the command that people use.
  const auto folder = [&] {
    for (const auto& entry : fs::directory_iterator(at("runs"))) {
      const std::string name = entry.path().string();
      const std::string config = bytes_of(name + "/config.yaml");
      if (config.find("kind: blended") != std::string::npos) return name;
    }
    return std::string("none");
  }();
  const ProgramResult evaluated =
      run({"evaluate", "--model", folder + "/best.safetensors", "--dataset", "critters", "--root",
           "critters", "--grid", "2", "--rerank", "5", "--json", "-"});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  const nlohmann::json said = nlohmann::json::parse(evaluated.out)["results"][0];
  EXPECT_DOUBLE_EQ(blended["numbers"]["p_at_1"], said["p_at_1"]);
  EXPECT_DOUBLE_EQ(blended["numbers"]["map_at_r"], said["map_at_r"]);

  // Everything is there: nothing is done.
  const ProgramResult again = run(run_tables());
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_EQ(again.out, "4 of 4 results are there\n");
  // A lost result costs no training.
  fs::remove(at("results/critters/two/margin.baseline.json"));
  const ProgramResult repaired = run(run_tables());
  EXPECT_EQ(repaired.exit_code, 0);
  EXPECT_EQ(repaired.out.find("epoch"), std::string::npos) << repaired.out;
  EXPECT_EQ(result_of("margin", "baseline")["numbers"], plain["numbers"]);

  const ProgramResult report =
      run({"experiments", "report", "results", "--experiments", "tables", "--out", "docs"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  EXPECT_NE(bytes_of(at("docs/results.md")).find("Two methods"), std::string::npos);
  EXPECT_TRUE(fs::exists(at("docs/results/critters-two.csv")));
}

TEST_F(Experiments, SayWhatTheDataSetLeavesOut) {
  fs::create_directories(at("photos"));
  fs::copy(at("critters/images"), at("photos"), fs::copy_options::recursive);
  for (const char* name : {"photos/loose.jpg", "photos/raw.cr2"}) write_bytes(at(name), "x");
  const std::string plan = run_well({"experiments", "run", "tables/two.yaml", "--dataset", "folder",
                                     "--root", "photos", "--results", "results", "--dry-run"});
  EXPECT_NE(plan.find("photos: 1 picture is left out: 1 .cr2"), std::string::npos) << plan;
  EXPECT_NE(plan.find("photos: 1 photo is left out: it lies in no folder of a class"),
            std::string::npos)
      << plan;
}

TEST_F(Experiments, RunSideBySide) {
  const ProgramResult result = run(run_tables({"--jobs", "2"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("4 of 4 results are there\n"), std::string::npos) << result.out;
  // One alone with as many threads trains the same.
  const nlohmann::json beside = result_of("margin", "structural");
  fs::remove_all(at("results"));
  fs::remove_all(at("runs"));
  const ProgramResult alone = run(run_tables({"--only", "Margin"}, "1"));
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_NE(alone.out.find("2 of 2 results are there\n"), std::string::npos) << alone.out;
  EXPECT_EQ(result_of("margin", "structural")["weights"], beside["weights"]);
}

TEST_F(Experiments, StopCleanlyWhenTheTimeIsUpAndGoOn) {
  const Arguments longer = {
      "--only", "Margin", "--set", "epochs=40", "evaluate.every=40", "checkpoint_epochs=40"};
  Arguments stopped = longer;
  stopped.insert(stopped.end(), {"--budget", "1s"});
  const ProgramResult first = run(run_tables(stopped));
  EXPECT_EQ(first.exit_code, 0) << first.err;
  ASSERT_NE(first.out.find("0 of 2 results are there; the same command continues\n"),
            std::string::npos)
      << first.out;
  const ProgramResult second = run(run_tables(longer));
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_NE(second.out.find("2 of 2 results are there\n"), std::string::npos) << second.out;
  // A second is enough to come past the first evaluation, unless the machine has much else to do.
  if (first.out.find("untrained") != std::string::npos) {
    EXPECT_EQ(second.out.find("untrained"), std::string::npos) << "it began anew: " << second.out;
  }
  EXPECT_EQ(result_of("margin", "baseline")["epochs"], 40);
}

TEST_F(Experiments, AChoiceIsMadeWithoutTheTestClasses) {
  run_well(
      {"critters", "--out", "more", "--classes", "12", "--images-per-class", "6", "--size", "64"});
  put_table(
      "settings:\n"
      "  {sampler.batch: 8, model.dim: 16, evaluate.rerank: 0, epochs: 1, evaluate.select: val}\n"
      "rows:\n"
      "  Margin: {loss.name: margin}\n"
      "columns:\n"
      "  plain: {split: val, rerank: 0}\n"
      "  fine: {split: val, rerank: 5, grid: 2, structural_weight: 2}\n"
      "choice: {best: {evaluate.select: last}}\n");
  run_well({"experiments", "run", "tables/two.yaml", "--dataset", "critters", "--root", "more",
            "--results", "results", "--threads", "2"});
  const nlohmann::json best = result_of("best", "test");
  EXPECT_EQ(result_of("margin", "plain")["images"], 6);  // one class of six is held out
  EXPECT_EQ(best["images"], 36);
  EXPECT_EQ(best["look"]["split"], "test");
  EXPECT_EQ(best["settings"]["evaluate.select"], "last");
  EXPECT_NE(best["weights"], result_of("margin", "plain")["weights"]);
  const bool fine = result_of("margin", "fine")["numbers"]["map_at_r"].get<double>() >
                    result_of("margin", "plain")["numbers"]["map_at_r"].get<double>();
  EXPECT_EQ(best["chosen"], fine ? "Margin, fine" : "Margin, plain");
}

TEST_F(Experiments, AFailingRunIsToldAndTheOthersGoOn) {
  std::string broken = kTable;
  broken.replace(broken.find("loss.name: margin}"), 18,
                 "loss.name: margin, optimiser.learning_rate: 1e30}");
  put_table(broken);
  ProgramResult result = run(run_tables());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("1 run failed: "), std::string::npos) << result.err;
  EXPECT_NE(result.out.find("2 of 4 results are there\n"), std::string::npos) << result.out;
  fs::remove_all(at("results"));
  result = run(run_tables({"--jobs", "2"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("1 run failed: the reason is in runs/"), std::string::npos)
      << result.err;
  EXPECT_NE(result.out.find("2 of 4 results are there\n"), std::string::npos) << result.out;
}

TEST_F(Experiments, RunsEndWithTheProgramThatBeganThem) {
  const Arguments longer = run_tables({"--jobs", "2", "--set", "epochs=100000"});
  run_until(longer, SIGKILL, [&] {
    std::size_t begun = 0;
    if (!fs::exists(at("runs"))) return false;
    for (const auto& entry : fs::recursive_directory_iterator(at("runs"))) {
      begun += entry.path().filename() == "metrics.jsonl" ? 1 : 0;
    }
    return begun == 2;
  });
  // They need a moment to write what they have.
  Arguments again = longer;
  again.insert(again.end(), {"--budget", "1s"});
  ProgramResult result;
  for (int wait = 0; wait < 100; ++wait) {
    result = run(again);
    if (result.out.find("failed") == std::string::npos) break;
  }
  EXPECT_EQ(result.out.find("failed"), std::string::npos) << result.out;
}

TEST_F(Experiments, ARunThatWasKilledAfterItsLastEpochIsNotTrainedAgain) {
  run_well(run_tables({"--only", "Margin"}));
  const nlohmann::json before = result_of("margin", "baseline");
  for (const auto& entry : fs::directory_iterator(at("runs")))
    fs::remove(entry.path() / "run.json");
  fs::remove_all(at("results"));
  run_well(run_tables({"--only", "Margin"}));
  const nlohmann::json after = result_of("margin", "baseline");
  for (const char* kept : {"epochs", "epoch", "weights", "numbers"}) {
    EXPECT_EQ(after[kept], before[kept]) << kept;
  }
}

TEST_F(Experiments, OneRunIsFoundByItsName) {
  const std::string listed = run_well(run_tables({"--dry-run"}));
  const std::string name = listed.substr(0, listed.find(':'));
  const ProgramResult unknown = run(run_tables({"--run", "nosuch"}));
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_NE(unknown.err.find("'nosuch': --dry-run lists them"), std::string::npos) << unknown.err;
  const std::string dry = run_well(run_tables({"--run", name, "--dry-run"}));
  EXPECT_EQ(dry, listed.substr(0, dry.size())) << dry;
  EXPECT_FALSE(fs::exists(at("runs")));
  run_well(run_tables({"--run", name}));
  EXPECT_NE(run_well(run_tables({"--dry-run"})).find("2 of 4 results"), std::string::npos);
}

TEST_F(Experiments, SettingsAreLookedAtBeforeAnythingIsTrained) {
  const auto with = [](const std::string& setting) {
    std::string text = kTable;
    return text.replace(text.find("measure.kind: blended"), 21, setting);
  };
  const std::pair<std::string, const char*> broken[] = {
      {with("measure.kind: sideways"), "two, Blended: "},
      {with("model.crop: 300"), "two, Blended: preprocessing: a crop of 300"},
      {std::string(kTable) + "choice: {best: {evaluate.patience: 3, evaluate.select: last}}\n",
       "two, best by Margin: "}};
  for (const auto& [text, why] : broken) {
    put_table(text);
    for (const Arguments& more : {Arguments{}, Arguments{"--dry-run"}, {"--jobs", "2"}}) {
      const ProgramResult result = run(run_tables(more));
      EXPECT_EQ(result.exit_code, 1);
      EXPECT_EQ(result.out, "");
      EXPECT_NE(result.err.find(why), std::string::npos) << result.err;
      EXPECT_FALSE(fs::exists(at("runs")));
    }
  }
}

TEST_F(Experiments, AWrongCallIsOneLine) {
  const auto refused = [&](const Arguments& more, const std::string& why) {
    const ProgramResult result = run(run_tables(more));
    EXPECT_NE(result.exit_code, 0);
    EXPECT_NE(result.err.find(why), std::string::npos) << result.err;
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
  };
  refused({"--budget", "soon"}, "such as 9m");
  refused({"--budget", "1e300"}, "such as 9m");
  refused({"--runs", ""}, "name a folder");
  refused({"--runs", "tables/two.yaml"}, "tables/two.yaml: ");
  refused({"--only", "Margn"}, "the nearest is Margin");
  refused({"--set", "epochs"}, "name=value");
  refused({"--model", "nowhere"}, "there is no such model");
  refused({"--set", "epoch=3"}, "the nearest is epochs");
}

}  // namespace
}  // namespace diml::test
