// Training that is interrupted and continues with the same result.

#include <algorithm>
#include <filesystem>

#include <signal.h>

#include "cli/train_folder.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;

class TrainInterrupted : public TrainFolder {
 protected:
  // Six steps an epoch.
  static Arguments long_run(const std::string& out, const Arguments& more = {}) {
    Arguments settings = {"epochs=4", "sampler.batch=4", "loss.name=proxyanchor",
                          "optimiser.learning_rate=0.001"};
    settings.insert(settings.end(), more.begin(), more.end());
    return train(out, settings);
  }

  std::size_t lines(const std::string& out) const {
    const std::string text = metrics_of(out);
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  void expect_same_run(const std::string& out, const std::string& whole) const {
    EXPECT_EQ(metrics_of(out), metrics_of(whole));
    EXPECT_EQ(bytes_of(checkpoint_file(out)), bytes_of(checkpoint_file(whole)));
    EXPECT_EQ(bytes_of(at(out + "/best.safetensors")), bytes_of(at(whole + "/best.safetensors")));
  }
};

TEST_F(TrainInterrupted, AKilledRunGoesOnFromItsLastEpoch) {
  run_well(long_run("whole"));
  ASSERT_EQ(lines("whole"), 5u);
  const ProgramResult killed =
      run_until(long_run("killed"), SIGKILL, [&] { return lines("killed") == 2; });
  EXPECT_EQ(killed.exit_code, 128 + SIGKILL);
  EXPECT_LT(lines("killed"), 5u);
  run_well(resume("killed"));
  expect_same_run("killed", "whole");

  // In the first epoch, and before there is a checkpoint at all.
  run_until(long_run("early"), SIGKILL, [&] { return fs::exists(checkpoint_file("early")); });
  run_well(resume("early"));
  expect_same_run("early", "whole");
  run_until(long_run("first"), SIGKILL, [&] { return fs::exists(at("first/config.yaml")); });
  fs::remove(checkpoint_file("first"));
  run_well(resume("first"));
  expect_same_run("first", "whole");
}

TEST_F(TrainInterrupted, AKilledRunGoesOnWhereNotEveryEpochIsKept) {
  const Arguments seldom = {"checkpoint_epochs=3"};
  run_well(long_run("whole", seldom));
  run_until(long_run("killed", seldom), SIGKILL, [&] { return lines("killed") == 3; });
  run_well(resume("killed"));
  expect_same_run("killed", "whole");
}

TEST_F(TrainInterrupted, AKilledRunGoesOnWithinAnEpoch) {
  const Arguments every_step = {"checkpoint_steps=1", "ema=0.9"};
  run_well(long_run("whole", every_step));
  run_until(long_run("killed", every_step), SIGKILL, [&] {
    if (!fs::exists(checkpoint_file("killed"))) return false;
    const Weights last = read_safetensors(checkpoint_file("killed"));
    // Early in an epoch, so that the signal comes before its end.
    const std::string steps = last.metadata.at("steps_done");
    return last.metadata.at("epochs_done") != "0" && (steps == "1" || steps == "2");
  });
  const Weights last = read_safetensors(checkpoint_file("killed"));
  EXPECT_NE(last.metadata.at("steps_done"), "0");
  run_well(resume("killed"));
  expect_same_run("killed", "whole");
}

TEST_F(TrainInterrupted, CtrlCStopsAfterAStep) {
  run_well(long_run("whole"));
  const ProgramResult stopped =
      run_until(long_run("stopped"), SIGINT, [&] { return lines("stopped") == 2; });
  EXPECT_EQ(stopped.exit_code, 1);
  EXPECT_EQ(stopped.err, "diml train: stopped; 'diml train --resume --out stopped' continues\n");
  run_well(resume("stopped"));
  expect_same_run("stopped", "whole");
}

TEST_F(TrainInterrupted, WhatIsNotANumberStopsTheRun) {
  const ProgramResult result = run(train("run", {"optimiser.learning_rate=1e30"}));
  expect_one_line(result, {"epoch 1, step 2", "run/nan_batch.txt", "run/last", "learning_rate"});
  const std::string list = bytes_of(at("run/nan_batch.txt"));
  EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), 8);
  EXPECT_TRUE(fs::exists(folder_.path() + "/" + list.substr(0, list.find('\n'))) ||
              fs::exists(list.substr(0, list.find('\n'))))
      << list;
  // The last checkpoint is an earlier one; a smaller learning rate continues from it.
  run_well(resume("run", {"--learning-rate", "1e-4"}));
  EXPECT_EQ(lines("run"), 3u);
}

TEST_F(TrainInterrupted, WeightsThatGiveNoNumbersAreNotKept) {
  // One step an epoch, and its loss is still a number; no evaluation would notice.
  const ProgramResult result = run(train("run", {"optimiser.learning_rate=1e10", "sampler.batch=24",
                                                 "sampler.per_class=6", "evaluate.every=9"}));
  expect_one_line(result, {"the network's output is not a number in epoch 1, step 1", "run/last"});
  EXPECT_EQ(read_safetensors(checkpoint_file("run")).metadata.at("epochs_done"), "0");
}

TEST_F(TrainInterrupted, AFullDiskKeepsTheLastCheckpoint) {
  run_well(train("whole", {"epochs=2"}));
  run_well(train("run", {"epochs=1"}));
  const std::string before = bytes_of(checkpoint_file("run"));
  // Enough space for the model, but not for the optimiser's state.
  const std::size_t room = fs::file_size(at("run/best.safetensors")) * 2;
  ASSERT_LT(room, before.size());
  const ProgramResult full = run(resume("run", {"--epochs", "2"}), {.largest_file = room});
  expect_one_line(full, {"run/last/checkpoint.safetensors: cannot be written: File too large"});
  EXPECT_EQ(bytes_of(checkpoint_file("run")), before);
  run_well(resume("run"));
  EXPECT_EQ(metrics_of("run"), metrics_of("whole"));
  EXPECT_EQ(bytes_of(checkpoint_file("run")), bytes_of(checkpoint_file("whole")));
}

}  // namespace
}  // namespace diml::test
