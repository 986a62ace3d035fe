// The files of a training run, and the errors of wrong calls.

#include <cmath>
#include <filesystem>

#include "cli/train_folder.h"
#include "models/model.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class Train : public TrainFolder {};

TEST_F(Train, BeginsWithTheProjectionThatWeightsProjectMakesAtRandom) {
  save_model(at("plain.safetensors"), make_model("small", StridePlace::in_3x3, 0, 3));
  // With a negligible learning rate it ends with its initial weights.
  run_well(train("run", {"model.weights=plain.safetensors", "seed=5", "epochs=1",
                         "optimiser.learning_rate=1e-30"}));
  run_well({"weights", "project", "plain.safetensors", "--kind", "random", "--dim", "16", "--seed",
            "5", "--out", "random.safetensors"});
  const Model trained = load_model(at("run/best.safetensors"));
  const Model random = load_model(at("random.safetensors"));
  for (const char* name : {"projection.weight", "projection.bias"}) {
    EXPECT_EQ(trained.tensors.at(name).floats(), random.tensors.at(name).floats()) << name;
  }
}

TEST_F(Train, LeavesARunBehind) {
  const std::string out = run_well(train("run"));
  EXPECT_NE(out.find("untrained"), std::string::npos) << out;
  EXPECT_NE(out.find("epoch    2"), std::string::npos) << out;
  EXPECT_NE(out.find("run/best.safetensors\n"), std::string::npos) << out;

  const std::vector<Json> epochs = epochs_of("run");
  ASSERT_EQ(epochs.size(), 3u);
  for (std::size_t e = 0; e < epochs.size(); ++e) {
    SCOPED_TRACE(epochs[e].dump());
    EXPECT_EQ(epochs[e].at("epoch"), e);
    EXPECT_EQ(epochs[e].contains("loss"), e > 0);
    EXPECT_EQ(epochs[e].contains("learning_rate"), e > 0);
    EXPECT_TRUE(epochs[e].at("best").is_boolean());
    ASSERT_EQ(epochs[e].at("results").size(), 2u);
    for (const Json& result : epochs[e].at("results")) {
      EXPECT_EQ(result.size(), 4u);
      for (const char* name : {"p_at_1", "r_precision", "map_at_r"}) {
        EXPECT_GE(result.at(name), 0.0);
        EXPECT_LE(result.at(name), 100.0);
      }
    }
    EXPECT_EQ(epochs[e].at("results")[0].at("rerank"), 0);
    EXPECT_EQ(epochs[e].at("results")[1].at("rerank"), 5);
  }
  std::size_t event_files = 0;
  for (const auto& entry : fs::directory_iterator(at("run"))) {
    event_files += entry.path().filename().string().starts_with("events.out.tfevents.") ? 1 : 0;
  }
  EXPECT_EQ(event_files, 1u);
  EXPECT_TRUE(fs::exists(checkpoint_file("run")));
  const Json info =
      Json::parse(run_well({"weights", "info", "run/best.safetensors", "--json", "-"}));
  EXPECT_EQ(info.at("dim"), 16);
  EXPECT_NE(info.at("provenance").get<std::string>().find("trained with margin on critters"),
            std::string::npos);

  // The metrics are those of the model.
  const Json evaluated = Json::parse(
      run_well({"evaluate", "--model", "run/best.safetensors", "--dataset", "critters", "--root",
                "critters", "--rerank", "0,5", "--grid", "2", "--threads", "1", "--json", "-"}));
  std::size_t best = 0;
  for (std::size_t e = 0; e < epochs.size(); ++e) best = epochs[e].at("best") ? e : best;
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_DOUBLE_EQ(evaluated.at("results")[k].at("map_at_r").get<double>(),
                     epochs[best].at("results")[k].at("map_at_r").get<double>());
  }
}

TEST_F(Train, TheSameSettingsAreTheSameRun) {
  run_well(train("a"));
  run_well(train("b"));
  EXPECT_EQ(metrics_of("a"), metrics_of("b"));
  EXPECT_EQ(bytes_of(checkpoint_file("a")), bytes_of(checkpoint_file("b")));
  // All of them are in config.yaml.
  run_well({"train", "--recipe", "a/config.yaml", "--out", "c"});
  EXPECT_EQ(metrics_of("a"), metrics_of("c"));
  EXPECT_EQ(bytes_of(at("a/config.yaml")), bytes_of(at("c/config.yaml")));
  run_well(train("d", {"seed=1"}));
  EXPECT_NE(metrics_of("a"), metrics_of("d"));
}

TEST_F(Train, TellsProgramsTheResults) {
  const Json summary = Json::parse(run_well(train("run", {}, {"--json", "-"})));
  const std::vector<Json> epochs = epochs_of("run");
  EXPECT_EQ(summary.at("model"), "run/best.safetensors");
  EXPECT_EQ(summary.at("untrained").at("results"), epochs[0].at("results"));
  EXPECT_EQ(summary.at("last").at("results"), epochs[2].at("results"));
  EXPECT_EQ(summary.at("last").at("loss"), epochs[2].at("loss"));
  EXPECT_EQ(summary.at("best").at("results"),
            epochs[summary.at("best").at("epoch").get<std::size_t>()].at("results"));
  // The same for a run that is already complete.
  const Json again = Json::parse(run_well(resume("run", {"--json", "-"})));
  EXPECT_EQ(again.at("best").at("epoch"), summary.at("best").at("epoch"));
  EXPECT_EQ(again.at("untrained").at("epoch"), 0);
  EXPECT_NEAR(again.at("last").at("results")[1].at("map_at_r"),
              summary.at("last").at("results")[1].at("map_at_r"), 1e-9);
  EXPECT_EQ(epochs_of("run"), epochs);
}

TEST_F(Train, TheTimeLeftIsToldOnATerminal) {
  const std::string shown = run(train("run"), {.error_stream = ErrorStream::terminal}).err;
  EXPECT_NE(shown.find("epoch 1/2, step 3/3, loss "), std::string::npos) << shown;
  EXPECT_NE(shown.find(" s left"), std::string::npos) << shown;
}

TEST_F(Train, EveryKindOfRunDoesAnEpoch) {
  const std::vector<Arguments> kinds = {
      {"measure.kind=structural"},
      {"measure.kind=blended", "loss.name=proxyanchor"},
      {"measure.kind=blended", "measure.plan_gradient=unrolled", "measure.max_iterations=5"},
      {"ema=0.9", "schedule.name=cosine", "schedule.warm_up_epochs=1", "optimiser.clip=1"},
      {"optimiser.name=adamw", "schedule.name=step", "schedule.steps=1", "sampler.name=random"},
  };
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    Arguments settings = kinds[k];
    settings.emplace_back("epochs=1");
    const std::string out = std::to_string(k);
    SCOPED_TRACE(settings[0]);
    run_well(train(out, settings));
    const std::vector<Json> epochs = epochs_of(out);
    ASSERT_EQ(epochs.size(), 2u);
    EXPECT_TRUE(std::isfinite(epochs[1].at("loss").get<double>()));
  }
}

TEST_F(Train, SchedulesSetTheRate) {
  run_well(train("run", {"optimiser.learning_rate=0.001", "schedule.name=step", "schedule.steps=1",
                         "schedule.gamma=0.5", "evaluate.every=2"}));
  const std::vector<Json> epochs = epochs_of("run");
  EXPECT_DOUBLE_EQ(epochs.at(1).at("learning_rate"), 0.001);
  EXPECT_DOUBLE_EQ(epochs.at(2).at("learning_rate"), 0.0005);
  EXPECT_FALSE(epochs[1].contains("results"));
  EXPECT_TRUE(epochs[2].contains("results"));
}

TEST_F(Train, TheSizeOfPhotosIsASetting) {
  run_well(train("run", {"model.crop=64", "model.resize=80", "epochs=1"}));
  const std::string best = "run/best.safetensors";
  const Json info = Json::parse(run_well({"weights", "info", best, "--json", "-"}));
  EXPECT_EQ(info.at("preprocessing").at("crop"), "64");
  EXPECT_EQ(info.at("preprocessing").at("resize"), "80");
  // Embedding uses the same sizes.
  const Json evaluated = Json::parse(
      run_well({"evaluate", "--model", best, "--dataset", "critters", "--root", "critters",
                "--rerank", "0", "--grid", "2", "--threads", "1", "--json", "-"}));
  const std::vector<Json> epochs = epochs_of("run");
  const Json& kept = epochs[1].at("best") ? epochs[1] : epochs[0];
  EXPECT_DOUBLE_EQ(evaluated.at("results")[0].at("map_at_r").get<double>(),
                   kept.at("results")[0].at("map_at_r").get<double>());
  expect_refused(train("other", {"model.crop=300"}), {"a crop of 300", "128", "larger"});
}

TEST_F(Train, ValidationHoldsOutClasses) {
  // Four training classes are too few to hold out a fifth of them.
  expect_refused(train("run", {"evaluate.select=val"}), {"evaluate.select val", "4"});
  run_well(
      {"critters", "--out", "more", "--classes", "12", "--images-per-class", "6", "--size", "64"});
  const Arguments settings = {"evaluate.select=val", "dataset.root=more", "epochs=1",
                              "loss.name=softmax"};
  run_well(train("run", settings));
  EXPECT_EQ(epochs_of("run").size(), 2u);
  // Six train, one of them is held out: five have a class vector.
  const Weights last = read_safetensors(checkpoint_file("run"));
  bool found = false;
  for (const auto& [name, tensor] : last.tensors) {
    if (!name.starts_with("loss.")) continue;
    found = true;
    EXPECT_EQ(tensor.shape[0], 5u) << name;
  }
  EXPECT_TRUE(found);
}

TEST_F(Train, PatienceEndsARunThatGetsNoBetter) {
  const Arguments settings = {"optimiser.learning_rate=1e-30", "loss.name=softmax",
                              "loss.class_lr=1e-30", "epochs=50", "evaluate.patience=3"};
  run_well(train("run", settings));
  EXPECT_EQ(epochs_of("run").size(), 4u);  // the untrained one stays the best
  run_well(resume("run"));                 // it is at its end
  EXPECT_EQ(epochs_of("run").size(), 4u);
  expect_refused(train("other", {"evaluate.patience=3", "evaluate.select=last"}), {"patience"});
}

TEST_F(Train, NobodyChoosesWhereTheLastEpochIsKept) {
  const Json summary =
      Json::parse(run_well(train("run", {"evaluate.select=last", "epochs=3"}, {"--json", "-"})));
  EXPECT_EQ(summary.at("best").at("epoch"), 3);
  const Weights kept = read_safetensors(at("run/best.safetensors"));
  const Weights last = read_safetensors(checkpoint_file("run"));
  EXPECT_EQ(kept.tensors.at("projection.weight").bytes,
            last.tensors.at("model.projection.weight").bytes);
}

TEST_F(Train, BeginsWithTrainedWeights) {
  Model model = make_model("small", StridePlace::in_3x3, 16, 3);
  model.preprocessing.resize = 72;
  model.preprocessing.crop = 64;
  save_model(at("small.safetensors"), model);
  run_well(train("run", {"epochs=1", "model.weights=small.safetensors"}));
  const Model best = load_model(at("run/best.safetensors"));
  EXPECT_EQ(best.preprocessing.crop, 64u);
  // BatchNorm's statistics stay those of the weights.
  for (const auto& [name, tensor] : model.tensors) {
    if (name.ends_with(".running_var")) {
      EXPECT_EQ(best.tensors.at(name).bytes, tensor.bytes) << name;
    }
  }
}

TEST_F(Train, UnrolledPlansAreAnnouncedWithTheMemoryTheyTake) {
  const Arguments unrolled = {"measure.kind=structural", "measure.plan_gradient=unrolled",
                              "epochs=1"};
  const ProgramResult result = run(train("run", unrolled));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err.find("unrolled plans need at most "), 0u) << result.err;
  EXPECT_NE(result.err.find(" pairs of 4 and 4 cells in 1000 iterations; cpu has "),
            std::string::npos)
      << result.err;
  Arguments too_many = unrolled;
  too_many.insert(too_many.end(), {"grid=14", "sampler.batch=24", "sampler.per_class=6",
                                   "loss.name=ms", "measure.max_iterations=10000000"});
  expect_refused(train("other", too_many),
                 {" TB for 576 pairs of 196 and 196 cells", "sampler.batch",
                  "measure.max_iterations", "measure.plan_gradient constant"});
}

class WrongTrain : public TrainFolder {};

TEST_F(WrongTrain, NamesAreAnsweredWithTheNearest) {
  expect_refused(train("run", {"loss.name=margn"}), {"margn", "margin"});
  expect_refused(train("run", {"loss.miner=distence"}), {"distence", "distance"});
  expect_refused(train("run", {"optimiser.learningrate=1"}), {"optimiser.learning_rate"});
  expect_refused(train("run", {"dataset.name=criters"}), {"criters", "critters"});
  expect_refused(train("run", {"measure.kind=structurel"}), {"structurel", "structural"});
  expect_refused(train("run", {"epochs=many"}), {"epochs", "many"});
  expect_refused(train("run", {"epochs"}), {"--set epochs", "name=value"});
}

TEST_F(WrongTrain, WhatIsMissingIsNamed) {
  expect_refused(train("run", {"dataset.root=nowhere"}), {"nowhere"});
  expect_refused(train("run", {"model.weights=none.safetensors"}), {"none.safetensors"});
  expect_refused({"train", "--out", "run"}, {"dataset.name"});
  expect_refused({"train", "--dataset", "critters"}, {"--out"});
  expect_refused(train("run", {}, {"--recipe", "none.yaml"}), {"none.yaml"});
  expect_refused(train("run", {"device=cuda:99"}), {"device cuda:99"});
  expect_refused(train("run", {"precision=float16"}), {"precision", "float32 or bfloat16"});
}

TEST_F(WrongTrain, ARecipeIsToldFileAndLine) {
  write_bytes(at("recipe.yaml"), "epochs: 3\noptimiser:\n  learning_rat: 0.1\n");
  expect_refused(train("run", {}, {"--recipe", "recipe.yaml"}),
                 {"recipe.yaml", "3", "optimiser.learning_rate"});
}

TEST_F(WrongTrain, BatchesMustBeWholeClasses) {
  expect_refused(train("run", {"sampler.batch=7"}), {"sampler.batch"});
}

TEST_F(WrongTrain, FoldersOfRuns) {
  expect_refused(resume("run"), {"run: holds no run to resume"});
  fs::create_directories(at("run/last"));
  write_bytes(at("run/config.yaml"), "epochs: 1\n");
  expect_refused(train("run"), {"run: holds a run already", "(--resume continues it)"});
  write_bytes(at("file"), "");
  expect_refused(train("file"), {"file"});
}

TEST_F(WrongTrain, ABadImageIsNamed) {
  run_well(train("run", {"epochs=1"}));
  const fs::path photos = at("critters/images");
  for (const auto& entry : fs::recursive_directory_iterator(photos)) {
    if (entry.is_regular_file()) write_bytes(entry.path(), "");
  }
  expect_one_line(run(train("other")), {".jpg: is empty", "--skip-bad"});
}

TEST_F(WrongTrain, ACheckpointOfAnotherNetworkIsRefused) {
  run_well(train("run", {"epochs=1"}));
  const std::string before = bytes_of(checkpoint_file("run"));
  expect_one_line(run(resume("run", {"--set", "model.dim=8"})), {"projection", "shape"});
  expect_one_line(run(resume("run", {"--set", "loss.name=softmax"})), {"checkpoint"});
  EXPECT_EQ(bytes_of(checkpoint_file("run")), before);
}

}  // namespace
}  // namespace diml::test
