#include "print_explanation.h"

#include <algorithm>
#include <cstdio>
#include <string>

namespace diml::cli {
namespace {

void print_pair(const Explanation& why, const PartPair& pair) {
  std::printf("  (%zu,%zu) -> (%zu,%zu)   [%6.2f] x [%5.2f] / %zu = %8.5f  %6.2f %%\n",
              pair.source / why.source.cols, pair.source % why.source.cols,
              pair.target / why.target.cols, pair.target % why.target.cols, pair.amplified,
              pair.similarity, why.pairs.size(), pair.contribution, 100.0 * pair.share);
}

// "rows 1-3", or "row 2" for one alone.
std::string span_text(const char* name, std::size_t first, std::size_t last) {
  return first == last
             ? std::string(name) + " " + std::to_string(first)
             : std::string(name) + "s " + std::to_string(first) + "-" + std::to_string(last);
}

// The cells of a region as the rectangle around them and their number.
std::string cells_text(const std::vector<std::size_t>& cells, GridShape shape) {
  std::size_t top = shape.rows;
  std::size_t left = shape.cols;
  std::size_t bottom = 0;
  std::size_t right = 0;
  for (const std::size_t cell : cells) {
    top = std::min(top, cell / shape.cols);
    bottom = std::max(bottom, cell / shape.cols);
    left = std::min(left, cell % shape.cols);
    right = std::max(right, cell % shape.cols);
  }
  return std::to_string(cells.size()) + " in " + span_text("row", top, bottom) + ", " +
         span_text("column", left, right);
}

void print_regions(const Explanation& why) {
  std::printf("regions (cells of the source -> cells of the target):\n");
  for (const Region& region : why.regions) {
    std::printf("  %-30s -> %-30s similarity %5.2f %9.5f  %6.2f %%\n",
                cells_text(region.source, why.source).c_str(),
                cells_text(region.target, why.target).c_str(), region.similarity,
                region.contribution, 100.0 * region.share);
  }
  std::printf("  scattered over all other pairs of cells %52.5f  %6.2f %%\n", why.scattered,
              why.score != 0.0 ? 100.0 * why.scattered / why.score : 0.0);
}

void print_prior(const Explanation& why) {
  if (!why.prior) return;
  const PriorReport& prior = *why.prior;
  if (!prior.trusted()) {
    std::printf("affine prior          not used: the fit is %s (support %.2f)\n",
                name_of(prior.doubt), prior.support);
    return;
  }
  const bool mirrors = prior.map[0] * prior.map[4] < prior.map[1] * prior.map[3];
  std::printf("affine prior          %d rounds, support %.2f%s\n", prior.rounds, prior.support,
              mirrors ? ", mirrored" : "");
}

}  // namespace

Image seen_by(const Preprocessing& preprocessing, const Image& image) {
  return resize_and_centre_crop(image, preprocessing.resize, preprocessing.crop,
                                preprocessing.interpolation);
}

void print_explanation(const Explanation& why, std::size_t strongest, std::size_t weakest) {
  strongest = std::min(strongest, why.pairs.size());
  weakest = std::min(weakest, why.weakest.size());
  print_regions(why);
  std::printf("strongest pairs of parts (row,column):\n");
  double shown = 0.0;
  for (std::size_t k = 0; k < strongest; ++k) {
    print_pair(why, why.pairs[k]);
    shown += why.pairs[k].contribution;
  }
  std::printf("  the other %zu pairs %36.5f\n", why.pairs.size() - strongest, why.score - shown);
  std::printf("structural similarity %.5f (%s, %d iterations, marginal error %.1e%s)\n", why.score,
              name_of(why.params.transport.backend), why.iterations, why.marginal_error,
              why.converged ? "" : ", not converged");
  std::printf("plain cosine          %.5f\n", why.cosine);
  print_prior(why);
  if (weakest > 0) std::printf("parts of the source that count least, and where they go:\n");
  for (std::size_t k = 0; k < weakest; ++k) print_pair(why, why.weakest[k]);
  if (why.fallbacks.uniform_source || why.fallbacks.uniform_target) {
    std::printf("one image has no part that resembles the other: its weights are uniform\n");
  }
}

}  // namespace diml::cli
