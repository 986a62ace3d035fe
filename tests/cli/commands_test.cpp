#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/grid_folder.h"
#include "diml/version.h"

namespace diml::test {
namespace {

using Json = nlohmann::json;

const std::vector<std::string> kCommands = {"match",  "evaluate", "generate",   "list", "bench",
                                            "doctor", "demo",     "completion", "man",  "help"};

class Program : public GridFolder {};

TEST_F(Program, TellsItsVersion) {
  EXPECT_EQ(run_well({"--version"}).find(std::string("diml ") + kVersion + "\n"), 0u);
}

TEST_F(Program, ListsItsCommands) {
  const std::string help = run_well({"--help"});
  for (const std::string& command : kCommands) {
    EXPECT_NE(help.find("\n  " + command + " "), std::string::npos) << command;
  }
}

TEST_F(Program, HelpsWithAnExampleForEachCommand) {
  for (const std::string& command : kCommands) {
    const std::string help = run_well({command, "--help"});
    const std::size_t example = help.find("Example");
    ASSERT_NE(example, std::string::npos) << command;
    EXPECT_NE(help.find("diml " + command, example), std::string::npos) << help;
  }
}

TEST_F(Program, HelpsWithoutTheRequiredOptions) {
  const ProgramResult result = run({"match", "--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
}

TEST_F(Program, ExitsWithTwoWhereTheCallIsWrongAndWithOneWhereItCannotBeDone) {
  EXPECT_NE(run_well({"--help"}).find("Exit codes: 0 success; 1 "), std::string::npos);
  EXPECT_EQ(run({"frobnicate"}).exit_code, 2);
  EXPECT_EQ(run({"match", "--frobnicate"}).exit_code, 2);
  EXPECT_EQ(run(match({"--lambda", "0"})).exit_code, 1);
  EXPECT_EQ(run({"match", "--cells", "none.npy", "--pairs", "P.npy", "--out", "S.npy"}).exit_code,
            1);
}

TEST_F(Program, SaysNothingOnStandardErrorWhenAllIsWell) {
  for (const Arguments& arguments :
       {match({"--plans", "T.npy"}), evaluate({"--nmi"}), Arguments{"doctor"}}) {
    EXPECT_EQ(run(arguments).err, "") << arguments[0];
  }
}

TEST_F(Program, FailsWhenItsOutputGoesNowhere) {
  const ProgramSettings full{.standard_output = "/dev/full"};
  expect_refused({"doctor"}, {}, full);
  expect_refused(evaluate({"--json", "-"}), {}, full);
}

TEST_F(Program, DoctorListsMatchersAndFeatures) {
  const Json report = Json::parse(run_well({"doctor", "--json", "-"}));
  EXPECT_EQ(report.at("version"), kVersion);
  std::vector<std::string> backends;
  for (const Backend backend : available_backends()) backends.emplace_back(name_of(backend));
  EXPECT_EQ(report.at("matchers").get<std::vector<std::string>>(), backends);
  EXPECT_EQ(report.at("simd_targets").get<std::vector<std::string>>(), simd_targets());
  EXPECT_GE(report.at("threads"), 1);
  EXPECT_GT(report.at("memory_gib").get<double>(), 0.0);
  std::vector<std::string> built_in;
  for (const Json& feature : report.at("features")) {
    EXPECT_FALSE(feature.at("package").get<std::string>().empty());
    if (feature.at("built_in").get<bool>()) built_in.push_back(feature.at("name"));
  }
  const auto has = [&](const char* name) {
    return std::count(built_in.begin(), built_in.end(), name) == 1;
  };
  EXPECT_TRUE(has("CLI"));
  EXPECT_TRUE(has("TESTS"));
  EXPECT_EQ(has("SIMD"), is_available(Backend::cpu));
  EXPECT_EQ(has("EXACT"), is_available(Backend::exact));
}

TEST_F(Program, DoctorWritesItsReportToAFile) {
  const std::string text = run_well({"doctor", "--json", "D.json"});
  EXPECT_NE(text.find("reference"), std::string::npos) << text;
  EXPECT_EQ(Json::parse(bytes_of(at("D.json"))).at("version"), kVersion);
}

TEST_F(Program, DoctorCountsTheThreadsOfTheEnvironment) {
  const std::string report =
      run_well({"doctor", "--json", "-"}, {.environment = {"DIML_THREADS=3"}});
  EXPECT_EQ(Json::parse(report).at("threads"), 3);
}

const Arguments kSmallBench = {"bench", "--images", "60", "--grid", "2", "--dim", "8"};

void expect_bench(const Json& bench) {
  EXPECT_EQ(bench.at("grid"), 2);
  EXPECT_EQ(bench.at("dim"), 8);
  EXPECT_EQ(bench.at("images"), 60);
  ASSERT_FALSE(bench.at("rows").empty());
  EXPECT_EQ(bench.at("rows")[0].at("matcher"), "reference");
  EXPECT_EQ(bench.at("rows")[0].at("largest_error"), 0.0);
  for (const Json& row : bench.at("rows")) {
    EXPECT_GT(row.at("pairs_per_second").get<double>(), 0.0);
    EXPECT_GE(row.at("iterations").get<double>(), 1.0);
  }
}

TEST_F(Program, BenchPrintsJsonAlone) {
  Arguments arguments = kSmallBench;
  arguments.insert(arguments.end(), {"--json", "-"});
  const std::string text = run_well(arguments);
  ASSERT_TRUE(Json::accept(text)) << text;
  expect_bench(Json::parse(text));
}

TEST_F(Program, BenchWritesJsonToAFileBesideTheTable) {
  Arguments arguments = kSmallBench;
  arguments.insert(arguments.end(), {"--json", "B.json"});
  const std::string table = run_well(arguments);
  EXPECT_NE(table.find("pairs/s"), std::string::npos) << table;
  expect_bench(Json::parse(bytes_of(at("B.json"))));
}

TEST_F(Program, DemoEvaluatesAndExplains) {
  const std::string text = run_well({"demo", "--grids"});
  EXPECT_NE(text.find("MAP@R"), std::string::npos) << text;
  EXPECT_NE(text.find("strongest pairs of cells"), std::string::npos) << text;
  EXPECT_NE(text.find("structural similarity"), std::string::npos) << text;
}

}  // namespace
}  // namespace diml::test
