// A vision transformer from random weights through every command.

#include "base/npy.h"
#include "cli/train_folder.h"
#include "models/model.h"

namespace diml::test {
namespace {

using Json = nlohmann::json;

const std::string kArchitecture = "vit:width=32,depth=2,heads=2,patch=8,pixels=32";

class Transformer : public TrainFolder {
 protected:
  Transformer() {
    run_well({"weights", "create", kArchitecture, "--dim", "0", "--out", "v.safetensors"});
  }
};

TEST_F(Transformer, SaysWhatItIs) {
  const Json info = Json::parse(run_well({"weights", "info", "v.safetensors", "--json", "-"}));
  EXPECT_EQ(info.at("architecture"), kArchitecture);
  EXPECT_EQ(info.at("own_global"), true);
  EXPECT_EQ(info.at("preprocessing").at("crop"), "32");
  const std::string told = run_well({"weights", "info", "v.safetensors"});
  EXPECT_NE(told.find("the network's own"), std::string::npos) << told;
  EXPECT_EQ(told.find("BatchNorm"), std::string::npos) << told;
}

TEST_F(Transformer, EmbedsAtItsOwnAndAtAnotherSize) {
  const auto embed = [&](const std::string& out, const Arguments& more) {
    Arguments arguments = {
        "embed",   "--model", "v.safetensors", "--dataset", "critters", "--root", "critters",
        "--split", "all",     "--out",         out,         "--grid",   "4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    run_well(arguments);
    return NpyFile(at(out + ".cells.npy")).shape();
  };
  const std::vector<std::size_t> expected = {8 * kOfClass, 16, 32};
  EXPECT_EQ(embed("own", {}), expected);
  EXPECT_EQ(embed("larger", {"--crop", "48", "--resize", "56"}), expected);
  EXPECT_NE(bytes_of(at("own.globals.npy")), bytes_of(at("larger.globals.npy")));
  expect_refused({"embed", "--model", "v.safetensors", "--images", "critters", "--out", "odd",
                  "--crop", "36", "--resize", "40"},
                 {"patches of 8 pixels", "32 and 40 do"});
}

TEST_F(Transformer, EvaluatesAndSearches) {
  const Json report =
      Json::parse(run_well({"evaluate", "--model", "v.safetensors", "--dataset", "critters",
                            "--root", "critters", "--rerank", "0,5", "--json", "-"}));
  EXPECT_EQ(report.at("queries"), 4 * kOfClass);
  EXPECT_EQ(report.at("results").size(), 2u);
#if DIML_HAS_GALLERY
  run_well({"index", "build", "g", "--model", "v.safetensors", "--dataset", "critters", "--root",
            "critters", "--split", "all"});
  const Json found =
      Json::parse(run_well({"search", "g", "--id", "0", "--top", "3", "--json", "-"}));
  EXPECT_FALSE(found.empty());
#endif
}

TEST_F(Transformer, TrainsWithAnyLossAndIsEvaluatedAsItWasTrained) {
  run_well(train("run",
                 {"model.architecture=" + kArchitecture, "loss.name=ms", "measure.kind=blended"}));
  const Model best = load_model(at("run/best.safetensors"));
  EXPECT_EQ(best.architecture, kArchitecture);
  EXPECT_EQ(best.output_channels(), 16u);
  const std::vector<Json> epochs = epochs_of("run");
  EXPECT_FALSE(epochs.empty());
  // Trained arrays differ from those of the start.
  EXPECT_NE(best.tensors.at("pos_embed").bytes,
            make_model(kArchitecture, StridePlace::in_3x3, 16, starting_seed(0))
                .tensors.at("pos_embed")
                .bytes);
  run_well({"evaluate", "--model", "run/best.safetensors", "--dataset", "critters", "--root",
            "critters", "--rerank", "0,5"});
}

TEST_F(Transformer, TrainsWithStochasticDepthAndOneRateForEachBlock) {
  const Arguments settings = {"model.architecture=" + kArchitecture, "loss.name=ms",
                              "model.drop_path=0.5", "optimiser.layer_decay=0.7"};
  run_well(train("dropped", settings));
  EXPECT_NE(bytes_of(at("dropped/config.yaml")).find("drop_path: 0.5"), std::string::npos);
  run_well(train("again", settings));
  EXPECT_EQ(bytes_of(at("dropped/best.safetensors")), bytes_of(at("again/best.safetensors")));
  expect_refused(train("refused", {"model.drop_path=1"}), {"model.drop_path is 1", "below 1"});
}

TEST_F(Transformer, EmbedsInBfloat16OnEveryBackend) {
  for (const char* backend : {"onednn", "torch"}) {
    run_well({"embed", "--model", "v.safetensors", "--images", "critters", "--out", backend,
              "--precision", "bfloat16", "--backend", backend});
    EXPECT_EQ(NpyFile(at(std::string(backend) + ".globals.npy")).shape()[1], 32U);
  }
}

}  // namespace
}  // namespace diml::test
