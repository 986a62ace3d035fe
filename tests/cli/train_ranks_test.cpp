// A run of several processes gives the same result as a run of one.

#include <chrono>
#include <cmath>
#include <thread>

#include <signal.h>

#include "cli/train_folder.h"
#include "cli/two_processes.h"

namespace diml::test {
namespace {

using namespace std::chrono_literals;

class TrainRanks : public TrainFolder {
 protected:
  // meanwhile: called beside process `rank`.
  std::vector<ProgramResult> run_both(const Arguments& arguments,
                                      const std::function<void(int process)>& meanwhile = {},
                                      std::size_t rank = 1) const {
    const RunWith one = [&](const ProgramSettings& settings) { return run(arguments, settings); };
    return run_two(one, one, [&](std::size_t of, int process) {
      if (meanwhile && of == rank) meanwhile(process);
    });
  }

  void wait_for_epochs(const std::string& out, std::size_t count) const {
    for (int wait = 0; wait < 60'000 && epoch_lines(out) < count; ++wait) {
      std::this_thread::sleep_for(1ms);
    }
  }
  std::size_t epoch_lines(const std::string& out) const {
    const std::string text = metrics_of(out);
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
};

// One step of plain gradient descent: the optimiser's state is the gradient.
TEST_F(TrainRanks, TheirGradientIsThatOfOne) {
  const std::vector<Arguments> losses = {
      {"loss.name=contrastive"},
      {"loss.name=margin", "measure.kind=blended"},
      {"loss.name=proxyanchor", "measure.kind=blended"},
  };
  for (std::size_t k = 0; k < losses.size(); ++k) {
    SCOPED_TRACE(losses[k].front());
    Arguments settings = {"epochs=1",
                          "sampler.batch=24",
                          "sampler.per_class=6",
                          "optimiser.name=sgd",
                          "optimiser.momentum=0",
                          "optimiser.weight_decay=0",
                          "optimiser.learning_rate=0.01"};
    settings.insert(settings.end(), losses[k].begin(), losses[k].end());
    const std::string one = "one" + std::to_string(k);
    const std::string two = "two" + std::to_string(k);
    run_well(train(one, settings));
    const std::vector<ProgramResult> both = run_both(train(two, settings));
    for (const ProgramResult& result : both) EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(both[1].out, "");  // one of them speaks
    const Weights alone = read_safetensors(checkpoint_file(one));
    const Weights shared = read_safetensors(checkpoint_file(two));
    std::size_t compared = 0;
    double whole_difference = 0.0;
    double whole_gradient = 0.0;
    for (const auto& [name, tensor] : alone.tensors) {
      if (!name.starts_with("optimiser.first.")) continue;
      ++compared;
      const std::vector<float> x = tensor.floats();
      const std::vector<float> y = shared.tensors.at(name).floats();
      ASSERT_EQ(x.size(), y.size());
      double difference = 0.0;
      double gradient = 0.0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        difference += (double{x[i]} - y[i]) * (double{x[i]} - y[i]);
        gradient += double{x[i]} * x[i];
      }
      EXPECT_GT(gradient, 0.0) << name;
      // The contributions of the cells to the gradient of this bias almost cancel: the rest has
      // fewer correct digits.
      const bool cancels = name.ends_with("projection.bias");
      EXPECT_LE(std::sqrt(difference / gradient), cancels ? 3e-5 : 1e-5) << name;
      whole_difference += difference;
      whole_gradient += gradient;
    }
    // Network, and what is learnt beside it.
    EXPECT_GT(compared, 10u);
    EXPECT_LE(std::sqrt(whole_difference / whole_gradient), 1e-5);
  }
}

TEST_F(TrainRanks, OneThatDiesEndsTheOther) {
  auto died = std::chrono::steady_clock::now();
  const std::vector<ProgramResult> both =
      run_both(train("run", {"epochs=1000", "evaluate.every=1000"}), [&](int process) {
        wait_for_epochs("run", 3);
        died = std::chrono::steady_clock::now();
        ::kill(process, SIGKILL);
      });
  EXPECT_EQ(both[1].exit_code, 128 + SIGKILL);
  expect_one_line(both[0], {"process 0 of 2", "one of them has ended", "(--resume continues it)"});
  EXPECT_LT(std::chrono::steady_clock::now() - died, 20s);
}

TEST_F(TrainRanks, TheOneThatWritesEndsTheOtherAsWell) {
  const std::vector<ProgramResult> both = run_both(
      train("run", {"epochs=1000", "evaluate.every=1000"}),
      [&](int process) {
        wait_for_epochs("run", 3);
        ::kill(process, SIGKILL);
      },
      0);
  EXPECT_EQ(both[0].exit_code, 128 + SIGKILL);
  expect_one_line(both[1], {"process 1 of 2", "one of them has ended"});
}

TEST_F(TrainRanks, OneThatIsStoppedStopsTheOther) {
  const Arguments settings = {"epochs=30", "evaluate.every=30"};
  const std::vector<ProgramResult> both = run_both(train("run", settings), [&](int process) {
    wait_for_epochs("run", 2);
    ::kill(process, SIGINT);
  });
  for (const ProgramResult& result : both) expect_one_line(result, {"stopped", "--resume"});
  EXPECT_LT(epoch_lines("run"), 31u);
}

TEST_F(TrainRanks, ABatchThatDoesNotDivideIsRefusedByBoth) {
  for (const ProgramResult& result : run_both(train("run", {"sampler.batch=6"}))) {
    expect_one_line(result, {"batch"});
  }
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"critters"});
}

TEST_F(TrainRanks, WhatIsNotANumberIsListedForAllOfThem) {
  const std::vector<ProgramResult> both = run_both(train("run", {"optimiser.learning_rate=1e30"}));
  for (const ProgramResult& result : both) {
    expect_one_line(result, {"not a number in epoch 1, step 2", "and 7 more"});
  }
  const std::string list = bytes_of(at("run/nan_batch.txt"));
  EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), 8);
}

}  // namespace
}  // namespace diml::test
