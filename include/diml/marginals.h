#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "diml/grid.h"

namespace diml {

// How much each cell weighs in a match.
enum class MarginalRule : std::uint8_t {
  // By its correlation with the *other* image's global: max(0, <global, cell>).
  cross_correlation,
  uniform,  // 1 / R
  // By its place alone, most in the middle: a control for rules that look at the image.
  centre,
};

inline constexpr MarginalRule kMarginalRules[] = {
    MarginalRule::cross_correlation, MarginalRule::uniform, MarginalRule::centre};

// Of `centre`: the standard deviation of its Gaussian, as a share of the grid's longer side. In a
// 4 x 4 grid a cell in the corner weighs a seventh of one in the middle.
constexpr double kCentreSigma = 0.25;

const char* name_of(MarginalRule rule);
MarginalRule marginal_rule_from(std::string_view name);

// A sum of correlations up to this value counts as 0: float32 cannot distinguish it from 0.
constexpr double kNoCorrelation = 1e-6;

// Which documented fallbacks were used for a degenerate input.
struct Fallbacks {
  bool uniform_source = false;  // no source cell correlates with the target's global
  bool uniform_target = false;  // no target cell correlates with the source's global
  bool log_domain = false;  // float32 is too narrow for the kernel: solved in double or, where that
                            // is too narrow as well, through logarithms

  bool any() const { return uniform_source || uniform_target || log_domain; }
  bool operator==(const Fallbacks&) const = default;
};

struct Marginals {
  std::vector<double> source;  // [R_s], sums to 1
  std::vector<double> target;  // [R_t], sums to 1
  Fallbacks fallbacks;
};

// Shapes: how the cells lie, which `centre` asks; empty for shape_of_cells().
Marginals make_marginals(GridView source, GridView target,
                         MarginalRule rule = MarginalRule::cross_correlation,
                         GridShape source_shape = {}, GridShape target_shape = {});

}  // namespace diml
