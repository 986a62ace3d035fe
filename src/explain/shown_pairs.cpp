#include "shown_pairs.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "numbers.h"

namespace diml::explained {
namespace {

std::string range_of(std::size_t first, std::size_t last) {
  if (first == last) return std::to_string(first);
  return std::to_string(first) + (last == first + 1 ? " and " : " to ") + std::to_string(last);
}

// " Red, 1 to 5: the strongest pairs, together 38.2 % of the score."
std::string words_of(const std::vector<ShownPair>& shown, bool strong) {
  double share = 0.0;
  std::size_t first = 0;
  std::size_t last = 0;
  for (const ShownPair& one : shown) {
    if (one.strong != strong) continue;
    if (first == 0) first = one.number;
    last = one.number;
    share += one.pair->share;
  }
  if (first == 0) return "";
  const bool one = first == last;
  std::string words = strong ? " Red, " : " Blue, ";
  words += range_of(first, last) + ": ";
  words += strong ? (one ? "the strongest pair, " : "the strongest pairs, together ")
                  : (one ? "the source's weakest part, " : "the source's weakest parts, together ");
  return words + percent(share) + " of the score.";
}

// " Outlined, 1 to 6: groups of cells that move together, with their share of the score, together
// 87.0 %; the rest is scattered."
std::string words_of_regions(const std::vector<ShownPair>& shown) {
  if (shown.empty()) return "";
  double share = 0.0;
  for (const ShownPair& one : shown) share += one.pair->share;
  return " Outlined, " + range_of(1, shown.size()) +
         ": cells of the source that move together and where most of what they add goes, with "
         "their "
         "share of the score, together " +
         percent(share) + "; the rest is scattered over other pairs.";
}

// The cell of the group that is nearest to its middle.
std::size_t middle_of(const std::vector<std::size_t>& cells, GridShape shape) {
  double row = 0.0;
  double col = 0.0;
  for (const std::size_t cell : cells) {
    row += static_cast<double>(cell / shape.cols) / static_cast<double>(cells.size());
    col += static_cast<double>(cell % shape.cols) / static_cast<double>(cells.size());
  }
  const auto off = [&](std::size_t cell) {
    return std::hypot(static_cast<double>(cell / shape.cols) - row,
                      static_cast<double>(cell % shape.cols) - col);
  };
  return *std::min_element(cells.begin(), cells.end(),
                           [&](std::size_t x, std::size_t y) { return off(x) < off(y); });
}

std::vector<ShownPair> shown_regions(const Explanation& why) {
  std::vector<ShownPair> shown;
  if (why.regions.empty()) return shown;
  const double most = std::max(1e-12, why.regions[0].contribution);
  for (const Region& region : why.regions) {
    auto sums = std::make_shared<PartPair>();
    sums->source = middle_of(region.source, why.source);
    sums->target = middle_of(region.target, why.target);
    sums->mass = region.mass;
    sums->similarity = region.similarity;
    sums->contribution = region.contribution;
    sums->share = region.share;
    ShownPair one;
    one.pair = sums.get();
    one.number = shown.size() + 1;
    one.strong = true;
    one.weight = std::sqrt(std::clamp(region.contribution / most, 0.0, 1.0));
    one.region = &region;
    one.own = std::move(sums);
    shown.push_back(std::move(one));
  }
  return shown;
}

std::string method_of(const Explanation& why) {
  const TransportParams& transport = why.params.transport;
  std::string words = std::string(" Marginals: ") + name_of(why.params.marginals) +
                      "; solver: " + name_of(transport.backend);
  if (transport.backend != Backend::exact) {
    words += number(", \u03bb = %g", transport.lambda) + ", " + std::to_string(why.iterations) +
             " iterations" + (why.converged ? "" : ", not converged") +
             number(", marginal error %.1e", why.marginal_error);
  }
  if (transport.mass < 1.0) words += number("; %g of the mass", transport.mass);
  if (why.prior) {
    words += why.prior->trusted()
                 ? "; affine prior, " + std::to_string(why.prior->rounds) + " rounds"
                 : std::string("; affine prior not used: ") + name_of(why.prior->doubt);
  }
  if (why.fallbacks.uniform_source) {
    words += "; no part of the source correlates with the target: uniform weights";
  }
  if (why.fallbacks.uniform_target) {
    words += "; no part of the target correlates with the source: uniform weights";
  }
  return words + ".";
}

}  // namespace

Ink ShownPair::ink() const {
  // Distinct also for colour-blind readers, and dark enough for text on white: Okabe and Ito's.
  constexpr std::array<Ink, 6> kRegions = {Ink{0.835, 0.369, 0.0}, Ink{0.0, 0.447, 0.698},
                                           Ink{0.0, 0.5, 0.37},    Ink{0.66, 0.32, 0.52},
                                           Ink{0.55, 0.42, 0.0},   Ink{0.2, 0.2, 0.2}};
  if (region != nullptr) return kRegions[(number - 1) % kRegions.size()];
  return strong ? kRed : kBlue;
}

std::string label_of(const ShownPair& one) {
  return one.region != nullptr ? percent(one.pair->share) : formula(*one.pair);
}

std::vector<ShownPair> shown_pairs(const Explanation& why, const FigureParams& params) {
  if (params.style == FigureStyle::regions) return shown_regions(why);
  std::vector<ShownPair> shown;
  const double most = why.pairs.empty() ? 1.0 : std::max(1e-12, why.pairs[0].contribution);
  const auto weight = [&](const PartPair& pair) {
    return std::sqrt(std::clamp(pair.contribution / most, 0.0, 1.0));
  };
  for (std::size_t k = 0; k < std::min(params.strongest, why.pairs.size()); ++k) {
    shown.push_back({&why.pairs[k], k + 1, true, weight(why.pairs[k]), nullptr});
  }
  const std::size_t strong = shown.size();
  const auto is_shown = [&](const PartPair& pair) {
    return std::any_of(shown.begin(), shown.end(), [&](const ShownPair& one) {
      return one.pair->source == pair.source && one.pair->target == pair.target;
    });
  };
  for (const PartPair& pair : why.weakest) {
    if (shown.size() - strong == params.weakest) break;
    if (!is_shown(pair)) shown.push_back({&pair, shown.size() + 1, false, weight(pair), nullptr});
  }
  return shown;
}

std::string caption_of(const Explanation& why, const std::vector<ShownPair>& shown,
                       const FigureParams& params) {
  const std::string count = std::to_string(why.pairs.size());
  std::string words;
  const bool regions = params.style == FigureStyle::regions;
  if (params.panels.pairs && !shown.empty() && !regions) {
    words = "[flow between two parts, 1 = even] \u00d7 [their similarity], summed over all " +
            count + " pairs and divided by " + count + ", is the structural similarity " +
            number("%.4f", why.score) + ".";
  } else {
    words = "The structural similarity is " + number("%.4f", why.score) + ", a sum over " + count +
            " pairs of parts.";
  }
  if (params.panels.photos || params.panels.pairs) {
    words += regions ? words_of_regions(shown) : words_of(shown, true) + words_of(shown, false);
  }
  if (params.panels.weights) {
    words += " Colour: the weight of each part; with plain pooling it is 1 everywhere.";
  }
  words += " Cosine similarity: " + number("%.4f", why.cosine) + ".";
  return words + method_of(why);
}

}  // namespace diml::explained
