#include <filesystem>

#include "cli/photo_folder.h"
#include "models/model.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// plain.safetensors is the network of PhotoFolder without its projection.
class WeightsProject : public PhotoFolder {
 protected:
  WeightsProject() {
    Model model = load_model(at("small.safetensors"));
    model.tensors.erase("projection.weight");
    model.tensors.erase("projection.bias");
    save_model(at("plain.safetensors"), model);
  }

  static Arguments project(const std::string& kind, const Arguments& more) {
    Arguments arguments = {"weights", "project", "plain.safetensors", "--kind", kind};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static Arguments by_pca(const Arguments& more, const std::string& dim = "12") {
    Arguments arguments =
        project("pca", {"--dataset", "critters", "--root", "critters", "--dim", dim});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

TEST_F(WeightsProject, ByPcaMakesAModelThatEmbedsAndEvaluates) {
  const std::string out = run_well(by_pca({"--out", "pca.safetensors", "--json", "pca.json"}));
  EXPECT_NE(out.find("128 channels to 12 dimensions"), std::string::npos) << out;
  EXPECT_NE(out.find("% of the second moment of 588 cells of 12 photos"), std::string::npos) << out;
  const Json json = Json::parse(bytes_of(at("pca.json")));
  EXPECT_EQ(json.at("kind"), "pca");
  EXPECT_EQ(json.at("dim"), 12);
  EXPECT_EQ(json.at("photos"), 12);  // the half of the classes that trains
  EXPECT_EQ(json.at("cells"), 12 * 49);
  EXPECT_EQ(json.at("bad"), 0);
  EXPECT_EQ(json.at("converged"), true);
  EXPECT_GT(json.at("kept"), 50.0);
  EXPECT_LE(json.at("kept"), 100.0 + 1e-9);

  const Model model = load_model(at("pca.safetensors"));
  EXPECT_EQ(model.preprocessing.crop, 64u);
  run_well({"embed", "--model", "pca.safetensors", "--images", "critters", "--out", "e"});
  EXPECT_EQ(shape_of("e.cells.npy").at(2), 12u);
  const Json evaluated =
      Json::parse(run_well({"evaluate", "--model", "pca.safetensors", "--dataset", "critters",
                            "--root", "critters", "--rerank", "0,5", "--json", "-"}));
  EXPECT_EQ(evaluated.at("results").size(), 2u);
  const Json judged =
      Json::parse(run_well({"explain-eval", "--model", "pca.safetensors", "--dataset", "critters",
                            "--root", "critters", "--pairs", "5", "--json", "-"}));
  EXPECT_EQ(judged.at("pairs"), 5);
}

TEST_F(WeightsProject, ByPcaShowsItsProgress) {
  const ProgramResult shown =
      run(by_pca({"--out", "pca.safetensors"}), {.error_stream = ErrorStream::terminal});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  for (const char* place : {"\rembed [", "\rdirections [", "100% 100/100"}) {
    EXPECT_NE(shown.err.find(place), std::string::npos) << place;
  }
  const ProgramResult bench = run(
      {"bench", "network", "--model", "small.safetensors", "--images", "critters", "--rounds", "1"},
      {.error_stream = ErrorStream::terminal});
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  EXPECT_NE(bench.err.find("\rmeasure ["), std::string::npos) << bench.err;
  EXPECT_NE(bench.err.find("100% 6/6"), std::string::npos) << bench.err;
}

TEST_F(WeightsProject, ByPcaIsTheSameEachTime) {
  run_well(by_pca({"--cells", "100", "--out", "a.safetensors", "--threads", "1"}));
  run_well(by_pca({"--cells", "100", "--out", "b.safetensors", "--threads", "2"}));
  const auto weights = [&](const char* name) {
    return load_model(at(name)).tensors.at("projection.weight").floats();
  };
  const std::vector<float> a = weights("a.safetensors");
  const std::vector<float> b = weights("b.safetensors");
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-3) << k;
  run_well(by_pca({"--cells", "100", "--out", "c.safetensors", "--seed", "1"}));
  EXPECT_NE(weights("c.safetensors"), a);
}

TEST_F(WeightsProject, ByPcaTakesAnyFolderAndSkipsWhatCannotBeRead) {
  for (std::size_t i = 0; i < 4; ++i) put_photo(i, "mine/" + std::to_string(i) + ".png");
  put_text("mine/bad.png", "no photo");
  const Arguments mine =
      project("pca", {"--images", "mine", "--dim", "5", "--out", "p.safetensors"});
  expect_refused(mine, {"mine/bad.png", "--skip-bad"});
  Arguments skipping = mine;
  skipping.insert(skipping.end(), {"--skip-bad", "--json", "-"});
  const ProgramResult result = run(skipping);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("1 of 5 images could not be read"), std::string::npos) << result.err;
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json.at("photos"), 4);
  EXPECT_EQ(json.at("bad"), 1);
}

TEST_F(WeightsProject, AtRandomNeedsNoPhotos) {
  const auto made = [&](const Arguments& more) {
    Arguments arguments = project("random", {"--dim", "20", "--out", "r.safetensors"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    run_well(arguments);
    return bytes_of(at("r.safetensors"));
  };
  const std::string first = made({});
  EXPECT_EQ(made({"--seed", "0"}), first);
  EXPECT_NE(made({"--seed", "1"}), first);
  const Json info = Json::parse(run_well({"weights", "info", "r.safetensors", "--json", "-"}));
  EXPECT_EQ(info.at("dim"), 20);
  EXPECT_EQ(info.at("provenance"), "random weights, seed 1; projection: random, seed 1");
}

TEST_F(WeightsProject, ReplacesAProjectionOnlyWhereItIsTold) {
  const Arguments call = {"weights", "project", "small.safetensors", "--kind",
                          "random",  "--out",   "r.safetensors"};
  expect_refused(call, {"small.safetensors: has a projection to 16 dimensions", "--replace"});
  Arguments replacing = call;
  replacing.emplace_back("--replace");
  run_well(replacing);
  EXPECT_EQ(load_model(at("r.safetensors")).output_channels(), 128u);
  replacing = {"weights",  "project", "small.safetensors", "--kind",   "pca",
               "--dim",    "9",       "--dataset",         "critters", "--root",
               "critters", "--out",   "p.safetensors",     "--replace"};
  run_well(replacing);
  run_well(by_pca({"--out", "q.safetensors"}, "9"));
  EXPECT_EQ(load_model(at("p.safetensors")).tensors.at("projection.weight").floats(),
            load_model(at("q.safetensors")).tensors.at("projection.weight").floats());
}

TEST_F(WeightsProject, WrongCallsAreToldInOneLine) {
  expect_refused({"weights", "project"}, {"model"});
  expect_refused({"weights", "project", "plain.safetensors", "--out", "p"}, {"--kind"});
  expect_refused(project("random", {}), {"--out"});
  expect_refused(project("svd", {"--out", "p"}), {"svd", "pca or random"});
  expect_refused(project("pca", {"--out", "p"}), {"--dataset NAME --root DIR", "--images DIR"});
  expect_refused(project("random", {"--images", "critters", "--out", "p"}), {"no photos"});
  expect_refused(project("random", {"--dim", "0", "--out", "p"}), {"--dim"});
  expect_refused(project("random", {"--dim", "4097", "--out", "p"}), {"--dim"});
  expect_refused(project("random", {"--threads", "-1", "--out", "p"}), {"--threads"});
  expect_refused(project("random", {"--out", "plain.safetensors"}), {"plain.safetensors"});
  expect_refused(project("random", {"--out", "none/p"}), {"none/p"});
  expect_refused(project("random", {"--out", "p", "--json", "p"}), {"p"});
  expect_refused(by_pca({"--out", "p"}, "129"), {"128 channels", "129"});
  expect_refused(by_pca({"--cells", "11", "--out", "p"}), {"11 cells", "12 directions"});
  expect_refused(by_pca({"--split", "tarin", "--out", "p"}), {"tarin", "train"});
  expect_refused(by_pca({"--images", "critters", "--out", "p"}), {"--images", "--dataset"});
  expect_refused({"weights", "project", "none", "--kind", "random", "--out", "p"},
                 {"none: there is no such model", "diml weights get"});
  put_text("text.pth", "no weights, and long enough to be a header of some kind");
  expect_refused({"weights", "project", "text.pth", "--kind", "random", "--out", "p"},
                 {"text.pth"});
}

TEST_F(WeightsProject, HelpsWithAnExample) {
  EXPECT_NE(run_well({"weights", "project", "--help"}).find("Example:\n  diml weights project "),
            std::string::npos);
}

}  // namespace
}  // namespace diml::test
