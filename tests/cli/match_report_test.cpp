#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/grid_folder.h"

namespace diml::test {
namespace {

using Json = nlohmann::json;
using Row = std::vector<std::string>;

std::vector<Row> read_csv(const std::string& path) {
  std::vector<Row> rows;
  std::istringstream lines(bytes_of(path));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    Row& row = rows.emplace_back();
    for (std::string field; std::getline(fields, field, ',');) row.push_back(field);
  }
  return rows;
}

class MatchReport : public GridFolder {
 protected:
  // Globals that point away from all cells: no side has a positive weight.
  void turn_globals_away() const {
    write_floats(at("C.npy"), {kImages, kCells, kDim},
                 std::vector<float>(kImages * kCells * kDim, 1.0f));
    write_floats(at("V.npy"), {kImages, kDim}, std::vector<float>(kImages * kDim, -1.0f));
  }
};

TEST_F(MatchReport, HasARowForEachPair) {
  const std::vector<float> scores = match_scores({"--report", "R.csv"});
  const std::vector<Row> rows = read_csv(at("R.csv"));
  ASSERT_EQ(rows.size(), pairs_.size() + 1);
  EXPECT_EQ(rows[0], (Row{"source", "target", "similarity", "iterations", "marginal_error",
                          "converged", "uniform_source", "uniform_target", "log_domain"}));
  for (std::size_t k = 0; k < pairs_.size(); ++k) {
    const Row& row = rows[k + 1];
    ASSERT_EQ(row.size(), rows[0].size());
    EXPECT_EQ(row[0], std::to_string(pairs_[k].source));
    EXPECT_EQ(row[1], std::to_string(pairs_[k].target));
    EXPECT_EQ(std::stof(row[2]), scores[k]) << "nine digits are enough for the very float";
    EXPECT_GE(std::stoi(row[3]), 1);
    EXPECT_LT(std::stod(row[4]), 1e-4);
    EXPECT_EQ((Row{row.begin() + 5, row.end()}), (Row{"1", "0", "0", "0"}));
  }
}

TEST_F(MatchReport, NamesTheQuantity) {
  run_well(match({"--report", "R.csv", "--quantity", "distance"}));
  EXPECT_EQ(read_csv(at("R.csv"))[0][2], "distance");
}

TEST_F(MatchReport, BracketsTheLeastCostWhenItCertifies) {
  MatchParams params;
  params.transport.backend = is_available(Backend::exact) ? Backend::exact : Backend::reference;
  const std::vector<StructuralMatch> best = library_matches(grids(), pairs_, params);
  for (const char* matcher : {"auto", "reference"}) {
    run_well(match({"--report", "R.csv", "--certify", "--matcher", matcher}));
    const std::vector<Row> rows = read_csv(at("R.csv"));
    ASSERT_EQ(rows[0].size(), 11u);
    EXPECT_EQ(rows[0][9], "cost_lower");
    EXPECT_EQ(rows[0][10], "cost_upper");
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      const double lower = std::stod(rows[k + 1].at(9));
      const double upper = std::stod(rows[k + 1].at(10));
      EXPECT_LT(lower, upper + 1e-6) << matcher << ", pair " << k;
      EXPECT_LT(upper - lower, 0.2) << matcher << ", pair " << k;
      if (!is_available(Backend::exact)) continue;
      EXPECT_LT(lower, 1.0 - best[k].score + 1e-5) << matcher << ", pair " << k;
      EXPECT_GT(upper, 1.0 - best[k].score - 1e-5) << matcher << ", pair " << k;
    }
  }
}

TEST_F(MatchReport, CertifyingChangesNoScore) {
  const std::vector<float> plain = match_scores();
  const std::vector<float> certified = match_scores({"--certify"});
  for (std::size_t k = 0; k < plain.size(); ++k) EXPECT_NEAR(certified[k], plain[k], 1e-6);
}

TEST_F(MatchReport, SaysWhereWeightsFellBackToUniform) {
  turn_globals_away();
  run_well(match({"--report", "R.csv"}));
  for (std::size_t k = 1; k <= pairs_.size(); ++k) {
    EXPECT_EQ(read_csv(at("R.csv"))[k].at(6), "1");
    EXPECT_EQ(read_csv(at("R.csv"))[k].at(7), "1");
  }
}

TEST_F(MatchReport, SummaryOnStandardOutputIsJsonAlone) {
  const Json summary = Json::parse(run_well(match({"--json", "-"})));
  EXPECT_EQ(summary.at("pairs"), pairs_.size());
  EXPECT_EQ(summary.at("unconverged"), 0);
  EXPECT_EQ(summary.at("uniform_marginals"), 0);
  EXPECT_EQ(summary.at("log_domain"), 0);
  EXPECT_GE(summary.at("mean_iterations").get<double>(), 1.0);
  EXPECT_GE(summary.at("most_iterations"), summary.at("mean_iterations"));
  EXPECT_FALSE(summary.contains("largest_duality_gap"));
}

TEST_F(MatchReport, SummaryGoesToAFileBesideTheTextForPeople) {
  const std::string text = run_well(match({"--json", "J.json"}));
  EXPECT_NE(text.find("7 pairs"), std::string::npos) << text;
  EXPECT_NE(text.find("S.npy"), std::string::npos) << text;
  EXPECT_EQ(Json::parse(bytes_of(at("J.json"))).at("pairs"), pairs_.size());
}

TEST_F(MatchReport, SummaryHasTheLargestGapOfTheCertificates) {
  const Json summary =
      Json::parse(run_well(match({"--json", "-", "--certify", "--report", "R.csv"})));
  double largest = 0.0;
  const std::vector<Row> rows = read_csv(at("R.csv"));
  for (std::size_t k = 1; k < rows.size(); ++k) {
    largest = std::max(largest, std::stod(rows[k].at(10)) - std::stod(rows[k].at(9)));
  }
  EXPECT_GT(largest, 0.0);
  EXPECT_NEAR(summary.at("largest_duality_gap").get<double>(), largest, 1e-6);
}

TEST_F(MatchReport, SummaryCountsPairsThatDidNotConverge) {
  const Arguments hurry = {"--max-iterations", "1", "--tolerance", "1e-7"};
  Arguments for_programs = hurry;
  for_programs.insert(for_programs.end(), {"--json", "-"});
  const Json summary = Json::parse(run_well(match(for_programs)));
  EXPECT_EQ(summary.at("unconverged"), pairs_.size());
  EXPECT_EQ(summary.at("most_iterations"), 1);
  EXPECT_NE(run_well(match(hurry)).find("did not converge"), std::string::npos);
}

TEST_F(MatchReport, SummaryCountsPairsWithUniformFallback) {
  turn_globals_away();
  const Json summary = Json::parse(run_well(match({"--json", "-"})));
  EXPECT_EQ(summary.at("uniform_marginals"), pairs_.size());
}

}  // namespace
}  // namespace diml::test
