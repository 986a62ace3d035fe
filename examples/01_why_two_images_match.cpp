// Two grids of local features, aligned: a score, and what each pair of cells adds to it.
#include <cstdio>
#include <vector>

#include <diml/match.h>

int main() {
  // Two images of 2 x 2 cells in 3 dimensions: the second shows the same parts in other places.
  const std::vector<float> bird = {1, 0, 0, /**/ 0, 1, 0, /**/ 0, 0, 1, /**/ 1, 1, 1};
  const std::vector<float> same_bird_mirrored = {0, 1, 0, /**/ 1, 0, 0, /**/ 1, 1, 1, /**/ 0, 0, 1};
  const diml::EmbeddingGrid source(bird, 3);
  const diml::EmbeddingGrid target(same_bird_mirrored, 3);

  const diml::StructuralMatch match = diml::match(source, target);
  for (std::size_t i = 0; i < match.plan.rows; ++i) {
    for (std::size_t j = 0; j < match.plan.cols; ++j) {
      if (match.contribution(i, j) < 0.01) continue;
      std::printf("cell %zu -> cell %zu adds %.3f\n", i, j, match.contribution(i, j));
    }
  }
  std::printf("structural similarity %.3f, converged after %d iterations\n", match.score,
              match.plan.iterations);
  return match.plan.converged && match.score > 0.9 ? 0 : 1;
}
