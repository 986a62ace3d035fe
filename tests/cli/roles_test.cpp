// Queries and galleries of a table: training and experiments give the same numbers as `diml
// evaluate`.

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/train_folder.h"
#include "diml/dataset.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kTable =
    "title: One method\n"
    "settings:\n"
    "  {sampler.batch: 8, model.dim: 16, evaluate.rerank: 0, evaluate.select: last, epochs: 1,\n"
    "   cache_mb: 64}\n"
    "rows:\n"
    "  Margin: {loss.name: margin}\n"
    "columns:\n"
    "  baseline: {rerank: 0}\n"
    "  structural: {rerank: 5, grid: 2}\n";

class RolesOfATable : public TrainFolder {
 protected:
  RolesOfATable() {
    put_table("critters/images.csv", true);
    fs::create_directories(at("tables"));
    std::ofstream(at("tables/one.yaml")) << kTable;
  }

  // Of each test class two images are queries only, three are in the gallery only and one is
  // neither; or all are both.
  void put_table(const std::string& name, bool told_apart) const {
    std::ofstream table(at(name));
    table << "label,path,split,is_query,is_gallery\n";
    for (const Split split : {Split::train, Split::test}) {
      std::size_t i = 0;
      for (const Sample& sample : load_dataset("critters", at("critters"), split).samples) {
        const std::size_t of_class = i++ % kOfClass;
        const bool is_both = !told_apart || split == Split::train;
        table << "c" << sample.label << "," << fs::absolute(sample.path).string() << ","
              << (split == Split::train ? "train" : "test") << "," << (is_both || of_class < 2)
              << "," << (is_both || (of_class >= 2 && of_class < 5)) << "\n";
      }
    }
  }

  Json evaluated(const std::string& model, const std::string& table) const {
    return Json::parse(
        run_well({"evaluate", "--model", model, "--dataset", "csv", "--root", table, "--rerank",
                  "0,5", "--grid", "2", "--threads", "1", "--json", "-"}));
  }
  Json result_of(const std::string& column) const {
    return Json::parse(bytes_of(at("results/csv/one/margin." + column + ".json")));
  }
};

TEST_F(RolesOfATable, CountTheSameInTrainingExperimentsAndEvaluation) {
  run_well({"experiments", "run", "tables/one.yaml", "--dataset", "csv", "--root",
            "critters/images.csv", "--results", "results", "--threads", "1"});
  std::string folder;
  for (const auto& entry : fs::directory_iterator(at("runs"))) folder = entry.path().string();
  const Json said = evaluated(folder + "/best.safetensors", "critters/images.csv");
  EXPECT_EQ(said.at("queries"), 4 * 2);
  EXPECT_EQ(said.at("gallery"), 4 * 3);
  const Json& cosine = said.at("results")[0];
  const Json& structural = said.at("results")[1];

  const Json trained = epochs_of(fs::relative(folder, at("")).string()).back();
  ASSERT_EQ(trained.at("epoch"), 1);
  EXPECT_EQ(result_of("baseline").at("images"), 4 * 5);
  for (const char* name : {"p_at_1", "r_precision", "map_at_r"}) {
    EXPECT_EQ(trained.at("results")[0].at(name), cosine.at(name)) << name;
    EXPECT_EQ(result_of("baseline").at("numbers").at(name), cosine.at(name)) << name;
    EXPECT_EQ(result_of("structural").at("numbers").at(name), structural.at(name)) << name;
  }

  // Otherwise the numbers would be the same without roles.
  put_table("plain.csv", false);
  EXPECT_NE(evaluated(folder + "/best.safetensors", "plain.csv").at("results")[0].at("map_at_r"),
            cosine.at("map_at_r"));
}

}  // namespace
}  // namespace diml::test
