// No finite input gives NaN or infinity: every matcher, every lambda, grids made to break it.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "diml/matcher.h"
#include "match/simd_targets.h"
#include "random_grid.h"

namespace diml {
namespace {

constexpr std::size_t kDim = 6;

struct Kind {
  const char* name;
  std::function<std::vector<float>(std::size_t cells)> cells;
  std::function<std::vector<float>()> global = [] { return std::vector<float>(); };
};

std::vector<float> filled(std::size_t count, float value) {
  return std::vector<float>(count, value);
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table = {
      {"zero", [](std::size_t n) { return filled(n * kDim, 0.0f); }},
      {"identical", [](std::size_t n) { return filled(n * kDim, 0.7f); }},
      {"opposite", [](std::size_t n) { return filled(n * kDim, -0.7f); }},
      {"largest float",
       [](std::size_t n) { return filled(n * kDim, std::numeric_limits<float>::max()); }},
      {"smallest float",
       [](std::size_t n) { return filled(n * kDim, std::numeric_limits<float>::denorm_min()); }},
      {"random", [](std::size_t n) { return test::random_cells(n, kDim, 5); }},
      {"random against its own direction",
       [](std::size_t n) { return test::random_cells(n, kDim, 6); },
       [] { return filled(kDim, -1.0f); }},
      {"zero global", [](std::size_t n) { return test::random_cells(n, kDim, 7); },
       [] { return filled(kDim, 0.0f); }},
      {"half zero",
       [](std::size_t n) {
         std::vector<float> cells = test::random_cells(n, kDim, 8);
         std::fill_n(cells.begin(), n / 2 * kDim, 0.0f);
         return cells;
       }},
      {"one direction a cell",
       [](std::size_t n) {
         std::vector<float> cells(n * kDim);
         for (std::size_t i = 0; i < n; ++i) cells[i * kDim + i % kDim] = i % 2 ? -1.0f : 1.0f;
         return cells;
       }},
      {"one cell of a million times the others",
       [](std::size_t n) {
         std::vector<float> cells = test::random_cells(n, kDim, 9);
         for (std::size_t d = 0; d < kDim; ++d) cells[d] *= 1e6f;
         return cells;
       }},
  };
  return table;
}

EmbeddingGrid grid_of(const Kind& kind, std::size_t cells) {
  return EmbeddingGrid(kind.cells(cells), kDim, kind.global());
}

void expect_sound(const Matcher& matcher, const Kind& source_kind, const Kind& target_kind,
                  std::size_t source_cells, std::size_t target_cells, const MatchParams& params) {
  const std::string what = std::string(matcher.name()) + ": " + source_kind.name + " x " +
                           std::to_string(source_cells) + " against " + target_kind.name + " x " +
                           std::to_string(target_cells) + ", lambda " +
                           std::to_string(params.transport.lambda);
  const EmbeddingGrid source = grid_of(source_kind, source_cells);
  const EmbeddingGrid target = grid_of(target_kind, target_cells);
  const GridSetView sources{source.view().cells, CellType::float32, 1, source_cells, kDim,
                            source.view().global};
  const GridSetView targets{target.view().cells, CellType::float32, 1, target_cells, kDim,
                            target.view().global};
  const Pair pair{0, 0};
  float score = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> plan(source_cells * target_cells);
  PairReport report;
  matcher.plans({sources, targets, std::span(&pair, 1)}, params, std::span(&score, 1), plan,
                std::span(&report, 1));
  ASSERT_TRUE(std::isfinite(score)) << what;
  ASSERT_LE(std::abs(score), 1.0f + 1e-4f) << what;
  ASSERT_TRUE(std::isfinite(report.marginal_error)) << what;
  ASSERT_TRUE(report.bracket && std::isfinite(report.bracket->lower) &&
              std::isfinite(report.bracket->upper))
      << what;
  double total = 0.0;
  for (const float mass : plan) {
    ASSERT_TRUE(std::isfinite(mass) && mass >= 0.0f) << what;
    total += mass;
  }
  ASSERT_NEAR(total, 1.0, 1e-4) << what;
}

void expect_sound_everywhere(const Matcher& matcher) {
  for (const double lambda : {1e-3, 5e-3, 0.02, 0.05, 1.0, 10.0}) {
    MatchParams params;
    params.transport = {.lambda = lambda, .max_iterations = 50};
    params.certificate = Certificate::duality_gap;
    for (const MarginalRule rule : kMarginalRules) {
      params.marginals = rule;
      for (const Kind& source : kinds()) {
        for (const Kind& target : kinds()) {
          expect_sound(matcher, source, target, 1, 1, params);
          expect_sound(matcher, source, target, 15, 8, params);
          if (lambda == 0.02) expect_sound(matcher, source, target, 49, 30, params);
        }
      }
    }
  }
}

class ExtremesOf : public testing::TestWithParam<Backend> {};

TEST_P(ExtremesOf, NoFiniteInputGivesNanOrInfinity) {
  if (!is_available(GetParam())) {
    GTEST_SKIP() << "there is no matcher " << name_of(GetParam()) << " on this machine";
  }
  expect_sound_everywhere(*make_matcher(GetParam(), {.threads = 1}));
}
INSTANTIATE_TEST_SUITE_P(Matchers, ExtremesOf,
                         testing::Values(Backend::reference, Backend::cpu, Backend::exact,
                                         Backend::cuda),
                         [](const auto& tested) { return name_of(tested.param); });

TEST(Extremes, NorDoesItOnAnySimdTarget) {
  if (simd_targets().empty()) GTEST_SKIP() << "built without Highway";
  for (const std::string& target : simd_targets()) {
    force_simd_target(target);
    expect_sound_everywhere(*make_matcher(Backend::cpu, {.threads = 1}));
  }
  force_simd_target("");
}

TEST(Extremes, TheCpuGivesTheDocumentedAnswersOfTheReference) {
  if (simd_targets().empty()) GTEST_SKIP() << "built without Highway";
  const auto reference = make_matcher(Backend::reference);
  const auto cpu = make_matcher(Backend::cpu);
  for (const Kind& source_kind : kinds()) {
    for (const Kind& target_kind : kinds()) {
      const EmbeddingGrid source = grid_of(source_kind, 16);
      const EmbeddingGrid target = grid_of(target_kind, 16);
      MatchParams params;
      params.transport.tolerance = 1e-6;
      params.transport.max_iterations = 20000;
      params.transport.backend = Backend::reference;
      const StructuralMatch expected = match(source, target, params);
      params.transport.backend = Backend::cpu;
      const StructuralMatch result = match(source, target, params);
      EXPECT_NEAR(result.score, expected.score, 1e-5)
          << source_kind.name << " / " << target_kind.name;
      EXPECT_EQ(result.marginals.fallbacks.uniform_source,
                expected.marginals.fallbacks.uniform_source);
      EXPECT_EQ(result.marginals.fallbacks.uniform_target,
                expected.marginals.fallbacks.uniform_target);
    }
  }
}

}  // namespace
}  // namespace diml
