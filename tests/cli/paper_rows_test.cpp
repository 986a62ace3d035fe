// The seventeen methods of the paper's table, trained on critters: docs/training.md. Each row is a
// separate test, so that one can run alone; the last one checks the table as a whole.
// DIML_ROW_SETTINGS="epochs=5 seed=1" adds settings to every row.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/temporary_folder.h"
#include "cli/program.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;

struct Row {
  const char* name;
  const char* loss;
  const char* miner = "";   // the loss's own without it
  Arguments settings = {};  // besides the recipe
};

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {"Contrastive", "contrastive"},
      {"TripletR", "triplet", "random"},
      {"TripletS", "triplet", "semihard"},
      // At the recipe's learning rate all embeddings collapse.
      {"TripletH",
       "triplet",
       "softhard",
       {"optimiser.learning_rate=0.0005", "schedule.warm_up_epochs=5"}},
      {"TripletD", "triplet", "distance"},
      {"NPair", "npair"},
      {"Angular", "angular"},
      {"GenLifted", "genlifted"},
      // The paper's learning rates of proxies belong to a network learning rate of 1e-5.
      {"ProxyNCA", "proxynca", "", {"loss.proxy_lr_factor=10"}},
      {"Histogram", "histogram"},
      {"Quadruplet", "quadruplet"},
      {"SNR", "snr"},
      {"Softmax", "softmax", "", {"loss.class_lr=0.01"}},
      {"Margin", "margin"},
      {"ArcFace", "arcface"},
      {"MS", "ms"},
      {"ProxyAnchor", "proxyanchor", "", {"loss.proxy_lr_factor=10"}},
  };
  return table;
}

// P@1 in percent, by the cosine of globals and re-ranked.
struct Precision {
  double plain = 0.0;
  double reranked = 0.0;
  double gain() const { return reranked - plain; }
};

Precision precision_of(const nlohmann::json& epoch) {
  Precision precision;
  for (const nlohmann::json& result : epoch.at("results")) {
    const std::size_t rerank = result.at("rerank").get<std::size_t>();
    (rerank == 0 ? precision.plain : precision.reranked) = result.at("p_at_1").get<double>();
  }
  return precision;
}

// Kept after the tests: each row runs in its own process.
std::string at(const std::string& name) { return std::string(DIML_ROWS_FOLDER) + "/" + name; }

std::optional<nlohmann::json> result_of(const Row& row) {
  const std::string path = at(std::string(row.name) + ".json");
  if (!fs::exists(path)) return {};
  return nlohmann::json::parse(bytes_of(path));
}

Arguments more_settings() {
  const char* text = std::getenv("DIML_ROW_SETTINGS");
  std::istringstream words(text == nullptr ? "" : text);
  Arguments settings;
  for (std::string word; words >> word;) settings.push_back(word);
  return settings;
}

TEST(PaperRows, Pictures) {
  fs::remove_all(DIML_ROWS_FOLDER);
  fs::create_directories(DIML_ROWS_FOLDER);
  const ProgramResult drawn = run_diml({"critters", "--out", at("critters"), "--classes", "60",
                                        "--images-per-class", "20", "--size", "128"});
  ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
}

class PaperRow : public testing::TestWithParam<std::size_t> {};

TEST_P(PaperRow, EndsAboveTheUntrainedNetwork) {
  const Row& row = rows()[GetParam()];
  ASSERT_TRUE(fs::exists(at("critters"))) << "the test PaperRows.Pictures draws them";
  const std::string name = row.name;
  fs::remove_all(at(name));
  fs::remove(at(name + ".json"));
  Arguments arguments = {"train",  "--recipe",  DIML_RECIPE, "--root",           at("critters"),
                         "--out",  at(name),    "--json",    at(name + ".json"), "--loss",
                         row.loss, "--threads", "2"};
  if (*row.miner != '\0') arguments.insert(arguments.end(), {"--miner", row.miner});
  Arguments settings = row.settings;
  const Arguments more = more_settings();
  settings.insert(settings.end(), more.begin(), more.end());
  if (!settings.empty()) arguments.emplace_back("--set");
  arguments.insert(arguments.end(), settings.begin(), settings.end());
  const ProgramResult trained = run_diml(arguments);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  fs::remove_all(at(name));  // megabytes of weights
  const nlohmann::json result = result_of(row).value();
  EXPECT_GT(precision_of(result.at("last")).plain, precision_of(result.at("untrained")).plain);
}

INSTANTIATE_TEST_SUITE_P(Of, PaperRow, testing::Range(std::size_t{0}, rows().size()),
                         [](const auto& row) { return std::string(rows()[row.param].name); });

TEST(PaperRows, MostGainByStructuralRerankingAndAllTogetherDo) {
  std::size_t trained = 0;
  std::size_t gaining = 0;
  double gains = 0.0;
  std::printf("%-12s %6s %6s %6s\n", "method", "K=0", "K=100", "gain");
  for (const Row& row : rows()) {
    const std::optional<nlohmann::json> result = result_of(row);
    EXPECT_TRUE(result) << row.name << " was not trained";
    if (!result) continue;
    const Precision last = precision_of(result->at("last"));
    std::printf("%-12s %6.1f %6.1f %+6.1f\n", row.name, last.plain, last.reranked, last.gain());
    ++trained;
    gaining += last.gain() > 0.0 ? 1 : 0;
    gains += last.gain();
  }
  ASSERT_GT(trained, 0u);
  std::printf("%zu of %zu gain, %+.2f on average\n", gaining, trained,
              gains / static_cast<double>(trained));
  EXPECT_GE(gaining, 12u);
  EXPECT_GT(gains, 0.0);
}

}  // namespace
}  // namespace diml::test
