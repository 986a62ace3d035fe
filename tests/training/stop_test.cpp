// A run that is stopped during an evaluation stops at once, and continues to the same result.

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "critters/critters.h"
#include "training/run_training.h"

namespace diml::training {
namespace {

class TrainStopped : public testing::Test {
 protected:
  // More pictures to evaluate than are embedded at a time.
  TrainStopped() {
    write_critters(folder_ / "critters", {.classes = 8, .images_per_class = 12, .size = 64});
  }

  TrainParams params(const std::string& out) const {
    return {.settings = {{"dataset.name", "critters"},
                         {"dataset.root", folder_ / "critters"},
                         {"epochs", "2"},
                         {"sampler.batch", "8"},
                         {"model.dim", "16"},
                         {"grid", "2"},
                         {"evaluate.rerank", "0,5"},
                         {"threads", "1"}},
            .out = folder_ / out};
  }

  // Stops as soon as some images of this evaluation are embedded; 0: the evaluation before
  // training. seen: how many were embedded.
  TrainSummary run_until_evaluation(const std::string& out, std::size_t evaluation,
                                    std::size_t& seen) const {
    std::size_t evaluations = 0;
    bool asked = false;
    TrainHooks hooks;
    hooks.on_epoch = [&](const EpochReport&) { ++evaluations; };
    hooks.on_evaluate = [&](std::size_t done, std::size_t) {
      if (evaluations != evaluation) return;
      asked = true;
      seen = done;
    };
    hooks.cancelled = [&] { return asked; };
    return run_training(params(out), hooks);
  }

  std::string file(const std::string& out, const std::string& name) const {
    return test::bytes_of(folder_ / (out + "/" + name));
  }

  void go_on(const std::string& out) const {
    const TrainSummary summary = run_training({.out = folder_ / out, .resume = true}, {});
    EXPECT_FALSE(summary.cancelled);
    for (const char* name : {"metrics.jsonl", "best.safetensors", "last/checkpoint.safetensors"}) {
      EXPECT_EQ(file(out, name), file("whole", name)) << name;
    }
  }

  const test::TemporaryFolder folder_;
};

TEST_F(TrainStopped, WithinAnEvaluationItGoesOnFromThere) {
  constexpr std::size_t kEvaluated = 4 * 12;
  run_training(params("whole"), {});
  for (const std::size_t evaluation : {0u, 1u, 2u}) {
    SCOPED_TRACE(evaluation);
    const std::string out = "stopped" + std::to_string(evaluation);
    std::size_t seen = 0;
    EXPECT_TRUE(run_until_evaluation(out, evaluation, seen).cancelled);
    EXPECT_GT(seen, 0u);
    EXPECT_LT(seen, kEvaluated);  // at once, not at the end of it
    const std::string metrics = file(out, "metrics.jsonl");
    EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), evaluation);
    go_on(out);
  }
}

}  // namespace
}  // namespace diml::training
