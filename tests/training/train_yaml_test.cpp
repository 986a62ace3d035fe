#include <limits>

#include "base/refusal.h"
#include "base/temporary_folder.h"
#include "training/odd_config.h"

namespace diml::test {
namespace {

using training::read_yaml;
using training::settings_of;
using training::to_yaml;
using training::TrainConfig;

class TrainYaml : public ::testing::Test {
 protected:
  // Configs are filled in place: gcc 12 warns of temporaries.
  void read(const std::string& yaml, TrainConfig& config) {
    write_bytes(path(), yaml);
    read_yaml(path(), config);
  }
  void expect_yaml_refused(const std::string& yaml, const std::string& why) {
    SCOPED_TRACE(yaml);
    write_bytes(path(), yaml);
    TrainConfig config;
    expect_refused([&] { read_yaml(path(), config); }, path() + why);
    EXPECT_EQ(settings_of(config), default_settings()) << "half a file was taken";
  }
  std::string path() const { return folder_ / "config.yaml"; }

  TemporaryFolder folder_;
};

TEST_F(TrainYaml, BringsBackEverySetting) {
  const TrainConfig odd = odd_config();
  TrainConfig config;
  read(to_yaml(odd), config);
  EXPECT_EQ(settings_of(config), settings_of(odd));
  EXPECT_EQ(to_yaml(config), to_yaml(odd));
}

TEST_F(TrainYaml, BringsBackTheDefaultsOverOtherValues) {
  const TrainConfig defaults;
  TrainConfig config = odd_config();
  config.loss.numbers.clear();  // a file names those that differ from the loss's own
  config.loss.miner_numbers.clear();
  read(to_yaml(defaults), config);
  EXPECT_EQ(settings_of(config), settings_of(defaults));
}

TEST_F(TrainYaml, IsWrittenAsNestedMapsInOrder) {
  TrainConfig config;
  config.dataset.name = "cub200";
  config.loss.numbers["margin"] = 0.3;
  config.schedule.steps = {50, 100};
  const std::string yaml = to_yaml(config);
  EXPECT_EQ(yaml.find("dataset:\n  name: cub200\n  root: \"\"\n  skip_bad: false\nmodel:\n"), 0U)
      << yaml;
  EXPECT_NE(yaml.find("\nloss:\n  name: margin\n  miner: \"\"\n  margin: 0.3\nmeasure:\n"),
            std::string::npos)
      << yaml;
  EXPECT_NE(yaml.find("\n  steps: [50, 100]\n"), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("\ngrid: 4\npooling: align\nsampler:\n"), std::string::npos) << yaml;
}

TEST_F(TrainYaml, QuotesTextThatLooksLikeANumber) {
  TrainConfig config;
  config.dataset.name = "196";
  EXPECT_NE(to_yaml(config).find("name: \"196\""), std::string::npos);
}

TEST_F(TrainYaml, TakesDotsListsAndHeadings) {
  TrainConfig config;
  const std::vector<std::size_t> both = {0, 50};
  read("loss.margin: 0.3\n", config);
  EXPECT_EQ(config.loss.numbers.at("margin"), 0.3);
  read("evaluate: {rerank: [0, 50]}\n", config);
  EXPECT_EQ(config.evaluate.rerank, both);
  read("evaluate:\n  rerank: []\n", config);
  EXPECT_TRUE(config.evaluate.rerank.empty());
  read("evaluate:\n  rerank: 0, 50\n", config);
  EXPECT_EQ(config.evaluate.rerank, both);
  read("loss:\nepochs: 3\n", config);  // a heading over nothing
  EXPECT_EQ(config.epochs, 3U);
  config.model.weights = "some";
  read("model:\n  weights:\n", config);
  EXPECT_EQ(config.model.weights, "");
}

TEST_F(TrainYaml, KeepsWhatTheFileDoesNotName) {
  TrainConfig config;
  config.seed = 7;
  read("epochs: 3\n", config);
  EXPECT_EQ(config.seed, 7U);
  EXPECT_EQ(config.epochs, 3U);
  const auto before = settings_of(config);
  for (const char* nothing : {"", "# nothing\n", "---\n", "{}\n"}) {
    read(nothing, config);
    EXPECT_EQ(settings_of(config), before) << nothing;
  }
}

TEST_F(TrainYaml, ErrorsNameFileAndLine) {
  expect_yaml_refused("epochs: 3\nepoch: 4\n",
                      ":2: there is no setting 'epoch': the nearest is epochs");
  expect_yaml_refused("loss:\n  name: margin\n  margin: wide\n",
                      ":3: loss.margin cannot be 'wide'");
  expect_yaml_refused("seed: 1\nepochs: 3\nepochs: 4\n", ":3: epochs is set twice");
  expect_yaml_refused("loss.margin: 1\nloss: {margin: 2}\n", ":2: loss.margin is set twice");
  expect_yaml_refused("epochs: [3\n", ":2: is not YAML: ");
  expect_yaml_refused("seed: 1\n\tepochs: 3\n", ":2: is not YAML: ");
  expect_yaml_refused("- epochs\n", ":1: is not a map");
  expect_yaml_refused("epochs: 3\n---\nepochs: 4\n", ":");
  expect_yaml_refused("evaluate: {rerank: [[0], 100]}\n", ":1: evaluate.rerank takes a list");
  expect_yaml_refused("? [a]\n: 3\n", ":1: the name of a setting must be a word");
  expect_yaml_refused("epochs: *there\n", ":1: is not YAML");
  expect_yaml_refused("dataset:\n  name: {first: a}\n",
                      ":2: there is no setting 'dataset.name.first'");
}

TEST_F(TrainYaml, RefusesAMapThatHoldsItself) {
  expect_yaml_refused("loss: &l\n  loss: *l\n", ":1: maps are nested too deeply");
  expect_yaml_refused(std::string(5000, '['), ":1: is not YAML");
}

TEST_F(TrainYaml, RefusesAFileThatIsNotThere) {
  TrainConfig config;
  expect_refused([&] { read_yaml(folder_ / "none.yaml", config); }, "none.yaml: ");
  expect_refused([&] { read_yaml(folder_.path(), config); }, folder_.path() + ": ");
}

TEST_F(TrainYaml, RefusesToWriteWhatItCouldNotBringBack) {
  TrainConfig config;
  config.clip = std::numeric_limits<double>::infinity();
  expect_refused([&] { to_yaml(config); }, "optimiser.clip");
}

}  // namespace
}  // namespace diml::test
