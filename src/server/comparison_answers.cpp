#include "comparison_answers.h"

#include <algorithm>

namespace diml::server {
namespace {

std::vector<std::vector<double>> rows_of(const std::vector<double>& values, std::size_t cols) {
  std::vector<std::vector<double>> rows;
  for (std::size_t at = 0; at < values.size(); at += cols) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(at);
    rows.emplace_back(first, first + static_cast<std::ptrdiff_t>(cols));
  }
  return rows;
}

std::vector<PartPairAnswer> listed(const std::vector<PartPair>& pairs, std::size_t most) {
  std::vector<PartPairAnswer> made;
  for (std::size_t k = 0; k < std::min(pairs.size(), most); ++k) made.push_back({pairs[k]});
  return made;
}

std::vector<RegionAnswer> listed(const std::vector<Region>& regions) {
  std::vector<RegionAnswer> made;
  for (const Region& region : regions) made.push_back({region});
  return made;
}

std::optional<PriorAnswer> answer_of(const std::optional<PriorReport>& prior) {
  if (!prior) return std::nullopt;
  return PriorAnswer{prior->rounds,
                     prior->trusted(),
                     name_of(prior->doubt),
                     {prior->map.begin(), prior->map.end()},
                     prior->support};
}

}  // namespace

ComparisonAnswer::ComparisonAnswer(const Explanation& why)
    : score(why.score),
      cosine(why.cosine),
      total(why.total()),
      params{name_of(why.params.marginals), why.params.transport.lambda,
             why.params.transport.mass,     name_of(why.params.transport.backend),
             name_of(why.params.prior),     why.weights.global,
             why.weights.structural},
      prior(answer_of(why.prior)),
      fallbacks{why.fallbacks.uniform_source, why.fallbacks.uniform_target,
                why.fallbacks.log_domain},
      iterations(why.iterations),
      converged(why.converged) {}

ExplanationAnswer::ExplanationAnswer(const Explanation& why, std::size_t most_pairs)
    : summary(why),
      mean_similarity(why.mean_similarity),
      source(why.source),
      target(why.target),
      marginals{why.source_marginal, why.target_marginal},
      similarity(rows_of(why.similarity, why.target.count())),
      plan(rows_of(why.plan, why.target.count())),
      regions(listed(why.regions)),
      scattered(why.scattered),
      pairs(listed(why.pairs, most_pairs)),
      weakest(listed(why.weakest, why.weakest.size())),
      marginal_error(why.marginal_error) {}

}  // namespace diml::server
