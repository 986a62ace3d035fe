#include <cstdio>

#include <diml/match.h>

int main() {
  const diml::EmbeddingGrid a({{1, 0, 0, 1}}, 2), b({{0, 1, 1, 0}}, 2);
  const diml::StructuralMatch result = diml::match(a, b);
  std::printf("%.3f\n", result.score);
  return result.score > 0.99 && result.plan(0, 1) > 0.49 ? 0 : 1;
}
