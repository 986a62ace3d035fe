#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "diml/dataset.h"

namespace diml::test {
namespace {

using Json = nlohmann::json;

Json listed(const std::string& family) {
  const ProgramResult result = run_diml({"list", family, "--json", "-"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return Json::parse(result.out).at(family);
}

TEST(List, HasTheDataSetsOfTheTable) {
  const Json datasets = listed("datasets");
  ASSERT_EQ(datasets.size(), dataset_kinds().size());
  for (std::size_t d = 0; d < datasets.size(); ++d) {
    EXPECT_EQ(datasets[d].at("name"), dataset_kinds()[d].name);
    EXPECT_EQ(datasets[d].at("about"), dataset_kinds()[d].layout);
  }
}

TEST(List, PrintsATable) {
  const ProgramResult result = run_diml({"list", "datasets"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out.find("name      what it is\ncub200    CUB_200_2011/"), 0U) << result.out;
}

TEST(List, RefusesWhatItDoesNotKnow) {
  const ProgramResult result = run_diml({"list", "loss"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("losses"), std::string::npos) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_EQ(run_diml({"list"}).exit_code, 2);
}

#if DIML_HAS_NETWORKS
TEST(List, HasBackbones) {
  const Json backbones = listed("backbones");
  const auto resnet50 = std::find_if(backbones.begin(), backbones.end(),
                                     [](const Json& one) { return one.at("name") == "resnet50"; });
  ASSERT_NE(resnet50, backbones.end());
  const std::string about = resnet50->at("about");
  EXPECT_EQ(about.find("49 convolutions in a row, a map of 2048 channels"), 0U) << about;
}

TEST(List, SaysWhereTrainedWeightsComeFrom) {
  const Json models = listed("models");
  const auto about = [&](const std::string& name) -> std::string {
    const auto found = std::find_if(models.begin(), models.end(),
                                    [&](const Json& one) { return one.at("name") == name; });
    return found == models.end() ? "" : found->at("about").get<std::string>();
  };
  EXPECT_NE(about("resnet50").find("trained: diml weights get resnet50"), std::string::npos);
  EXPECT_NE(about("vit_small_patch14_dinov2").find("imported from timm"), std::string::npos);
  EXPECT_EQ(about("vit_small_patch14_dinov2").find("weights get"), std::string::npos);
}
#endif

#if DIML_HAS_TORCH
TEST(List, HasLossesWithTheirNumbersAndMiners) {
  const Json losses = listed("losses");
  const auto margin = std::find_if(losses.begin(), losses.end(),
                                   [](const Json& one) { return one.at("name") == "margin"; });
  ASSERT_NE(margin, losses.end());
  EXPECT_EQ(margin->at("miner"), "distance");
  EXPECT_EQ(margin->at("numbers").at("margin"), 0.2);
  EXPECT_FALSE(listed("miners").empty());
  EXPECT_FALSE(listed("samplers").empty());
}
#else
TEST(List, SaysWhatIsMissingForTraining) {
  const ProgramResult result = run_diml({"list", "losses"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("libtorch-dev"), std::string::npos) << result.err;
}
#endif

}  // namespace
}  // namespace diml::test
