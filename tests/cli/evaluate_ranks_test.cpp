// Several processes give the same metrics as one.

#include <nlohmann/json.hpp>

#include "cli/grid_folder.h"
#include "cli/two_processes.h"

namespace diml::test {
namespace {

class EvaluateRanks : public ProgramFolder {
 protected:
  static constexpr std::size_t kImages = 900;

  EvaluateRanks() {
    run_well({"generate", "--images", std::to_string(kImages), "--classes", "31", "--grid", "3",
              "--dim", "16", "--out", "g"});
  }

  static Arguments evaluate(const Arguments& more) {
    Arguments arguments = {"evaluate", "--cells",      "g.cells.npy", "--globals", "g.globals.npy",
                           "--labels", "g.labels.npy", "--rerank",    "0,20,100",  "--json",
                           "-",        "--per-class"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  static nlohmann::json without_times(const std::string& text) {
    nlohmann::json json = nlohmann::json::parse(text);
    json.erase("seconds");
    return json;
  }

  // Every digit of every number is the same.
  void expect_same(const Arguments& more) const {
    const nlohmann::json one = without_times(run_well(evaluate(more)));
    const RunWith both_with = [&](const ProgramSettings& settings) {
      return run(evaluate(more), settings);
    };
    const std::vector<ProgramResult> both = run_two(both_with, both_with);
    for (const ProgramResult& result : both) ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(both[1].out + both[1].err, "");  // one of them speaks
    EXPECT_EQ(without_times(both[0].out), one);
    const double p_at_1 = one.at("results").at(0).at("p_at_1").get<double>();
    EXPECT_GT(p_at_1, 0.0);
    EXPECT_LT(p_at_1, 100.0);
  }
};

TEST_F(EvaluateRanks, AreTheNumbersOfOne) {
  expect_same({});
  expect_same({"--nmi"});
}

TEST_F(EvaluateRanks, AreTheNumbersOfOneWithQueriesAndAGallery) {
  std::vector<std::int64_t> roles(kImages);
  for (std::size_t i = 0; i < kImages; ++i) roles[i] = 1 + static_cast<std::int64_t>(i * i % 3);
  write_integers(at("roles.npy"), {kImages}, roles);
  expect_same({"--roles", "roles.npy"});
}

TEST_F(EvaluateRanks, OneMayHaveNothingToAsk) {
  // A class of twenty images, and the rest in the gallery: all queries are of one class.
  std::vector<std::int64_t> roles(kImages, 2);
  std::vector<std::int64_t> labels(kImages);
  NpyFile(at("g.labels.npy")).read_int64s(0, labels);
  for (std::size_t i = 0; i < kImages; ++i) {
    if (labels[i] == labels[0]) roles[i] = 3;
  }
  write_integers(at("roles.npy"), {kImages}, roles);
  expect_same({"--roles", "roles.npy"});
}

TEST_F(EvaluateRanks, TheFilesOfTheQueriesAreThoseOfOneAndOneWritesThem) {
  const auto files = [](const std::string& name) {
    return evaluate({"--per-query", name + ".csv", "--html", name + ".html"});
  };
  run_well(files("one"));
  // Each is told another name: what one of them writes is seen.
  const auto named = [&](const std::string& name) {
    return [this, &files, name](const ProgramSettings& settings) {
      return run(files(name), settings);
    };
  };
  for (const ProgramResult& result : run_two(named("first"), named("second"))) {
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  for (const char* ending : {".csv", ".html"}) {
    EXPECT_EQ(bytes_of(at(std::string("first") + ending)), bytes_of(at(std::string("one") + ending)));
  }
  for (const std::string& name : folder_.names()) EXPECT_FALSE(name.starts_with("second")) << name;
}

TEST_F(EvaluateRanks, ProcessesWithOtherLabelsAreRefused) {
  std::vector<std::int64_t> labels(kImages);
  NpyFile(at("g.labels.npy")).read_int64s(0, labels);
  std::swap(labels.front(), labels.back());
  write_integers(at("other.npy"), {kImages}, labels);
  const auto with = [&](const std::string& name) {
    return [this, name](const ProgramSettings& settings) {
      return run({"evaluate", "--cells", "g.cells.npy", "--labels", name}, settings);
    };
  };
  for (const ProgramResult& result : run_two(with("g.labels.npy"), with("other.npy"))) {
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.err.find("has other grids, labels or roles"), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace diml::test
