#include "work_budget.h"

#include <cstdio>

#include "refusal.h"

namespace diml::server {
namespace {

// docs/reliability.md: 11 ns a step through logarithms is measured, 0.1 ns otherwise an estimate.
constexpr double kStepsOfALogarithm = 100.0;
// Similarities lie 2 apart at most, and double has room for 600 lambdas between them.
constexpr double kLambdaOfLogarithms = 2.0 / 600.0;

std::string rounded(double steps) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", steps);
  return text;
}

}  // namespace

double steps_of_pair(std::size_t source_cells, std::size_t target_cells, const MatchParams& match,
                     Backend backend) {
  const double cells = static_cast<double>(source_cells) * static_cast<double>(target_cells);
  // Pivots of the network simplex, each over a part of the arcs.
  if (backend == Backend::exact) {
    return cells * 10.0 * static_cast<double>(source_cells + target_cells);
  }
  const bool by_logarithms =
      backend == Backend::reference || match.transport.lambda < kLambdaOfLogarithms;
  return cells * match.transport.max_iterations * (by_logarithms ? kStepsOfALogarithm : 1.0);
}

void expect_affordable(const Service& service, std::size_t pairs, const MatchParams& match,
                       Backend backend, const char* what) {
  const std::size_t cells = service.gallery->format().cells_per_grid;
  const double of_pair = steps_of_pair(cells, cells, match, backend);
  const double most = service.params.limits.work;
  if (of_pair * static_cast<double>(pairs) <= most) return;
  const auto allowed = static_cast<std::size_t>(most / of_pair);
  const std::string remedy =
      match.transport.lambda < kLambdaOfLogarithms ? " or a larger lambda" : "";
  throw Refusal(422, "matching " + std::to_string(pairs) + " " + what + " of " +
                         std::to_string(cells) + " cells may take " +
                         rounded(of_pair * static_cast<double>(pairs)) + " steps, more than the " +
                         rounded(most) +
                         " that this server allows for one request: ask for at most " +
                         std::to_string(allowed) + " " + what + remedy);
}

}  // namespace diml::server
