// Search: cosine of the global vectors finds candidates, structural matching orders the first
// hundred.
#include <cstdio>

#include <diml/generated.h>
#include <diml/retriever.h>

int main() {
  const diml::GeneratedGrids images = diml::generate_grids({.size = 2000, .classes = 100});
  const diml::GridSetView gallery = images.grids.view();
  const diml::Retriever retriever(gallery);

  diml::GridSetView query = gallery;  // the first image, which must not find itself
  query.size = 1;
  const std::vector<std::int64_t> itself = {0};
  const diml::ScoredRanking scored =
      retriever.match_head(query, retriever.candidates(query, 200, itself), 100);
  const std::vector<std::int64_t> ids = diml::reranked(scored, 0, 100);

  for (std::size_t rank = 0; rank < 5; ++rank) {
    std::printf("rank %zu: image %lld, class %lld\n", rank + 1, static_cast<long long>(ids[rank]),
                static_cast<long long>(images.labels[static_cast<std::size_t>(ids[rank])]));
  }
  return images.labels[static_cast<std::size_t>(ids[0])] == images.labels[0] ? 0 : 1;
}
