#include <sys/resource.h>

#include <gtest/gtest.h>

#include "diml/evaluate.h"
#include "diml/generated.h"

namespace diml {
namespace {

double peak_gigabytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024.0 / 1e9;
}

TEST(Scale, AnEvaluationOfStanfordOnlineProductsSizeStaysWithinTwoGigabytes) {
  const GeneratedGrids generated = generate_grids({.size = 60502, .classes = 11316});
  const Evaluation evaluation = evaluate(generated.grids.view(), generated.labels);
  EXPECT_EQ(evaluation.queries, 60502u);
  EXPECT_GT(evaluation.results[1].metrics.p_at_1, evaluation.results[0].metrics.p_at_1);
  EXPECT_LT(peak_gigabytes(), 2.0);
}

// One class of all images: the ranked lists are as deep as the gallery.
TEST(Scale, OneClassOfThousandsOfImagesStaysWithinTwoGigabytes) {
  const GeneratedGrids generated =
      generate_grids({.size = 20000, .classes = 1, .grid = 1, .dim = 16});
  const Evaluation evaluation =
      evaluate(generated.grids.view(), generated.labels, {.rerank = {0}, .match = {}});
  EXPECT_EQ(evaluation.results[0].metrics.map_at_r, 1.0);
  EXPECT_LT(peak_gigabytes(), 2.0);
}

}  // namespace
}  // namespace diml
