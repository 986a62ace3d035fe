#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diml/embedding.h"
#include "diml/evaluate.h"
#include "diml/match.h"
#include "diml/progress.h"
#include "diml/transport.h"

namespace diml {

// What a setting is judged by, each query by itself; the mean counts.
enum class Criterion : std::uint8_t { p_at_1, r_precision, map_at_r };
Criterion criterion_from(std::string_view name);
const char* name_of(Criterion criterion);

struct CalibrateParams {
  // Candidates; the paper's setting is always one of them.
  std::vector<double> lambdas = {0.01, 0.02, 0.035, 0.05, 0.07, 0.1, 0.2};
  std::vector<double> weights = {0.15, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0};
  std::vector<std::size_t> depths = {25, 50, 100, 200};
  Criterion criterion = Criterion::p_at_1;
  std::size_t folds = 5;
  std::uint64_t seed = 0;     // of the folds
  MatchParams match{};        // all but lambda
  std::vector<Role> roles{};  // [labels], or empty: every image is a query and in the gallery
  Backend backend = Backend::fastest;
  int threads = 0;
};

// The grids of the same images, made with one size of grid.
struct CalibrationGrids {
  std::size_t grid = 0;  // cells per side
  GridSetView grids;
};

// One setting on all queries.
struct CalibrationTrial {
  std::size_t grid = 0;
  double lambda = 0.0;
  double weight = 0.0;
  std::size_t rerank = 0;
  double value = 0.0;  // of the criterion, in per cent
};

struct CalibrationResult {
  Calibration chosen;                    // with its evidence
  std::size_t unlabelled = 0;            // images that took no part
  bool changed = false;                  // false: no setting is reliably better than the paper's
  std::vector<CalibrationTrial> trials;  // all of them, the best first
  std::vector<Calibration> of_folds;     // what each fold's rest chose
};

// Chooses the setting that is best on labelled images of training classes, which are queries and
// gallery as in evaluate().
// The evidence is cross-validated over classes: the queries of each fifth of the classes are
// evaluated with what the other four choose. Where that is not better than the paper's setting by
// more than its standard error, the paper's setting stays. Can be cancelled between two blocks of
// queries.
CalibrationResult calibrate(std::span<const CalibrationGrids> candidates,
                            std::span<const std::int64_t> labels,
                            const CalibrateParams& params = {}, const Progress& progress = {});

}  // namespace diml
