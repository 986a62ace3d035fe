#include <algorithm>
#include <cstdio>
#include <numeric>

#include "command.h"
#include "diml/evaluate.h"
#include "diml/generated.h"
#include "diml/match.h"
#include "diml/retriever.h"
#include "progress_bar.h"
#include "results.h"

namespace diml::cli {
namespace {

constexpr std::size_t kSide = 4;
constexpr std::size_t kHead = 100;

// A query that the cosine of globals gets wrong and structural matching right, and the image that
// it then finds.
struct Rescue {
  std::size_t query = 0;
  std::size_t wrong = 0;
  std::size_t right = 0;
  bool found = false;
};

Rescue find_rescue(const GeneratedGrids& generated) {
  const GridSetView grids = generated.grids.view();
  std::vector<std::int64_t> themselves(grids.size);
  std::iota(themselves.begin(), themselves.end(), std::int64_t{0});
  const Retriever retriever(grids);
  const ScoredRanking scored =
      retriever.match_head(grids, retriever.candidates(grids, kHead, themselves), kHead);
  for (std::size_t q = 0; q < grids.size; ++q) {
    const std::size_t before = static_cast<std::size_t>(scored.ranking.ids_of(q)[0]);
    const std::size_t after = static_cast<std::size_t>(reranked(scored, q, scored.head)[0]);
    const std::int64_t label = generated.labels[q];
    if (generated.labels[before] != label && generated.labels[after] == label) {
      return {q, before, after, true};
    }
  }
  return {};
}

void print_weights(const char* title, const std::vector<double>& weights) {
  std::printf("  %s\n", title);
  for (std::size_t row = 0; row < kSide; ++row) {
    std::printf("   ");
    for (std::size_t column = 0; column < kSide; ++column) {
      std::printf(" %5.1f%%", 100.0 * weights[row * kSide + column]);
    }
    std::printf("\n");
  }
}

void explain(const GeneratedGrids& generated, std::size_t source, std::size_t target) {
  MatchParams params;
  params.certificate = Certificate::duality_gap;
  const StructuralMatch result = match(generated.grids[source], generated.grids[target], params);
  const std::size_t cells = result.plan.cols;
  print_weights("weights of the query's cells", result.marginals.source);
  print_weights("weights of the found image's cells", result.marginals.target);

  std::vector<std::size_t> order(result.similarity.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    return result.contribution(x / cells, x % cells) > result.contribution(y / cells, y % cells);
  });
  std::printf("  strongest pairs of cells (row,column):\n");
  double shown = 0.0;
  constexpr std::size_t kShown = 5;
  const double scale = static_cast<double>(cells * cells);
  for (std::size_t k = 0; k < kShown; ++k) {
    const std::size_t i = order[k] / cells;
    const std::size_t j = order[k] % cells;
    const double contribution = result.contribution(i, j);
    shown += contribution;
    std::printf(
        "    (%zu,%zu) -> (%zu,%zu)   [%5.2f] x [%4.2f] / %zu = %.4f   %4.1f %% of the score\n",
        i / kSide, i % kSide, j / kSide, j % kSide, scale * result.plan(i, j),
        result.similarity[order[k]], cells * cells, contribution,
        100.0 * contribution / result.score);
  }
  std::printf("    the other %zu pairs %30s %.4f\n", cells * cells - kShown, "",
              result.score - shown);
  std::printf("  structural similarity %43.4f   (%d iterations, marginal error %.1e)\n",
              result.score, result.plan.iterations, result.plan.marginal_error);
  std::printf("  no plan between these weights scores above %.4f (duality)\n",
              1.0 - result.bracket->lower);
}

void run_demo() {
  const GeneratedGrids generated = generate_grids({.size = 3000, .classes = 150, .grid = kSide});
  std::printf("3000 generated grids of 150 classes, each a query against all the others\n\n");
  print_table(evaluate(generated.grids.view(), generated.labels, {}, progress_bar("evaluate")));
  const Rescue rescue = find_rescue(generated);
  if (!rescue.found) return;
  std::printf(
      "\nimage %zu: the nearest by cosine is image %zu, of another class; re-ranked, it is image "
      "%zu, of its own. "
      "Why?\n\n",
      rescue.query, rescue.wrong, rescue.right);
  explain(generated, rescue.query, rescue.right);
}

}  // namespace

Run define_demo(CLI::App&) { return run_demo; }

}  // namespace diml::cli
