#include <cstdio>

#include <diml/embedder.h>

int main(int count, char** arguments) {
  for (int k = 1; k < count; ++k) {
    const diml::Embedder embedder = diml::open_embedder({.model = arguments[k]});
    std::printf("%zu cells of %zu dimensions\n", embedder.cells_per_grid(), embedder.dim());
  }
}
