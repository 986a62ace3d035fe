// Against POT in float64: files made by tools/make_golden.py.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "diml/match.h"

namespace diml {
namespace {

struct Golden {
  std::string name;
  std::map<std::string, double> numbers;
  std::map<std::string, std::vector<double>> arrays;
  std::vector<float> source, source_global, target, target_global;

  std::size_t size(const char* key) const { return static_cast<std::size_t>(numbers.at(key)); }
  GridView source_view() const {
    return {source.data(), CellType::float32, size("source_cells"), size("dim"),
            source_global.data()};
  }
  GridView target_view() const {
    return {target.data(), CellType::float32, size("target_cells"), size("dim"),
            target_global.data()};
  }
  MatchParams params(Backend backend) const {
    return {numbers.at("uniform") != 0.0 ? MarginalRule::uniform : MarginalRule::cross_correlation,
            {.backend = backend,
             .lambda = numbers.at("lambda"),
             .tolerance = 1e-6,
             .max_iterations = 100000},
            Certificate::duality_gap};
  }
};

Golden read(const std::filesystem::path& path) {
  Golden golden;
  golden.name = path.stem().string();
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string key;
    double first = 0.0;
    words >> key >> first;
    std::vector<double> values;
    for (double value = 0.0; words >> value;) values.push_back(value);
    if (values.empty()) {
      golden.numbers[key] = first;
    } else {
      golden.arrays[key] = values;
    }
  }
  const auto floats = [&golden](const char* key) {
    const std::vector<double>& values = golden.arrays.at(key);
    return std::vector<float>(values.begin(), values.end());
  };
  golden.source = floats("source");
  golden.source_global = floats("source_global");
  golden.target = floats("target");
  golden.target_global = floats("target_global");
  return golden;
}

class GoldenFile : public testing::TestWithParam<std::filesystem::path> {};

void expect_agreement(const Golden& golden, Backend backend) {
  const double tolerance = backend == Backend::reference ? 1e-6 : 5e-6;
  const StructuralMatch result =
      match(golden.source_view(), golden.target_view(), golden.params(backend));
  EXPECT_TRUE(result.plan.converged) << name_of(backend);
  EXPECT_NEAR(result.score, golden.arrays.at("score")[0], tolerance) << name_of(backend);
  EXPECT_NEAR(result.distance, golden.arrays.at("distance")[0], 3 * tolerance) << name_of(backend);
  double plan_error = 0.0;
  for (std::size_t k = 0; k < result.plan.mass.size(); ++k) {
    plan_error += std::abs(result.plan.mass[k] - golden.arrays.at("plan")[k]);
  }
  EXPECT_LT(plan_error, 10 * tolerance) << name_of(backend);
  for (std::size_t i = 0; i < result.marginals.source.size(); ++i) {
    EXPECT_NEAR(result.marginals.source[i], golden.arrays.at("source_marginal")[i], 1e-6);
  }
  for (std::size_t j = 0; j < result.marginals.target.size(); ++j) {
    EXPECT_NEAR(result.marginals.target[j], golden.arrays.at("target_marginal")[j], 1e-6);
  }
  // The optimum lies inside the bracket.
  EXPECT_LE(result.bracket->lower, golden.arrays.at("exact_cost")[0] + 1e-6);
  EXPECT_GE(result.bracket->upper, golden.arrays.at("exact_cost")[0] - 1e-6);
}

TEST_P(GoldenFile, TheReferenceAgreesWithPot) {
  expect_agreement(read(GetParam()), Backend::reference);
}

TEST_P(GoldenFile, TheFastSolverAgreesWithPot) {
  if (!is_available(Backend::cpu)) GTEST_SKIP() << "built without Highway";
  expect_agreement(read(GetParam()), Backend::cpu);
}

TEST_P(GoldenFile, ExactTransportAgreesWithPot) {
  if (!is_available(Backend::exact)) GTEST_SKIP() << "built without LEMON";
  const Golden golden = read(GetParam());
  const StructuralMatch result =
      match(golden.source_view(), golden.target_view(), golden.params(Backend::exact));
  // The optimal plan need not be unique, its cost is: score = 1 - cost.
  EXPECT_NEAR(1.0 - result.score, golden.arrays.at("exact_cost")[0], 1e-9);
}

std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(DIML_GOLDEN_FOLDER)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

INSTANTIATE_TEST_SUITE_P(Pot, GoldenFile, testing::ValuesIn(golden_files()),
                         [](const auto& test) { return test.param.stem().string(); });

TEST(Golden, FilesAreThere) { EXPECT_GE(golden_files().size(), 8u); }

}  // namespace
}  // namespace diml
