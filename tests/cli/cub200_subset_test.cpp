// From photos to numbers, against an independent implementation: docs/for-researchers.md, "Does it
// compute what the paper says?".

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "models/fetched_weights.h"

namespace diml::test {
namespace {

// As tables show it.
std::string shown(const nlohmann::json& percent) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", percent.get<double>());
  return text;
}

TEST(Cub200Subset, AnUntrainedResnet50GivesTheNumbersOfTheIndependentRun) {
  const char* root = std::getenv("DIML_CUB200");
  if (root == nullptr) {
    GTEST_SKIP()
        << "DIML_CUB200 names no folder: set it to that of CUB_200_2011, with a short side "
           "of 256 pixels";
  }
  const FetchedWeights weights = fetched_resnet50();
  if (weights.path.empty()) GTEST_SKIP() << weights.why_not;
  const std::string cache = std::filesystem::path(weights.path).parent_path().string();
  const ProgramResult run =
      run_diml({"evaluate", "--model", "resnet50", "--no-projection", "--dataset", "cub200",
                "--root", root, "--rerank", "0,100", "--json", "-"},
               {.environment = {"DIML_CACHE=" + cache}});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json.at("queries"), 5924);
  const nlohmann::json& cosine = json.at("results").at(0);
  const nlohmann::json& reranked = json.at("results").at(1);
  EXPECT_EQ(cosine.at("rerank"), 0);
  EXPECT_EQ(reranked.at("rerank"), 100);
  EXPECT_EQ(shown(cosine.at("p_at_1")), "44.82");
  EXPECT_EQ(shown(cosine.at("r_precision")), "18.77");
  EXPECT_EQ(shown(cosine.at("map_at_r")), "9.62");
  EXPECT_EQ(shown(reranked.at("p_at_1")), "45.86");
  EXPECT_EQ(shown(reranked.at("r_precision")), "19.42");
  EXPECT_EQ(shown(reranked.at("map_at_r")), "10.15");
}

}  // namespace
}  // namespace diml::test
