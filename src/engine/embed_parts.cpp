#include "engine/embed_parts.h"

#include <algorithm>

namespace diml {
namespace {

constexpr std::size_t kAtOnce = 64;  // decoded images in memory

// The images of the pairs, each once; the pairs then count among these.
std::vector<const Sample*> used_in(const std::vector<const Sample*>& shown,
                                   std::vector<ImagePair>& pairs) {
  std::vector<std::size_t> place(shown.size(), shown.size());
  std::vector<const Sample*> used;
  for (ImagePair& pair : pairs) {
    for (std::size_t* image : {&pair.source, &pair.target}) {
      if (place[*image] == shown.size()) {
        place[*image] = used.size();
        used.push_back(shown[*image]);
      }
      *image = place[*image];
    }
  }
  return used;
}

}  // namespace

PartGrids embed_parts(Embedder& embedder, const Dataset& data, const PartPairsParams& params,
                      const Progress& progress) {
  std::vector<const Sample*> shown;
  std::vector<std::int64_t> labels;
  for (const Sample& sample : data.samples) {
    if (sample.parts.empty()) continue;
    shown.push_back(&sample);
    labels.push_back(sample.label);
  }
  PartGrids judged;
  judged.shape = {embedder.grid(), embedder.grid()};
  judged.pairs = pairs_of_classes(labels, params.pairs, params.seed);
  const std::vector<const Sample*> used = used_in(shown, judged.pairs);
  judged.grids = GridSet(used.size(), embedder.cells_per_grid(), embedder.dim());
  judged.parts.resize(used.size());
  for (const Sample* sample : used) judged.labels.push_back(sample->label);
  const Preprocessing& seen = embedder.preprocessing();
  const std::size_t of_grid = embedder.cells_per_grid() * embedder.dim();
  for (std::size_t first = 0; first < used.size(); first += kAtOnce) {
    const std::size_t some = std::min(kAtOnce, used.size() - first);
    std::vector<Image> decoded(some);
    parallel_for(some, 1, params.threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        const Sample& sample = *used[first + k];
        decoded[k] = read_image(sample.path);
        judged.parts[first + k] = cells_of_parts(sample.parts, decoded[k].width, decoded[k].height,
                                                 seen.resize, seen.crop, judged.shape);
      }
    });
    std::vector<float> cells(some * of_grid);
    std::vector<float> globals(some * embedder.dim());
    embedder.embed(decoded, cells, globals);
    for (std::size_t k = 0; k < some; ++k) {
      judged.grids.set(first + k, {&cells[k * of_grid], of_grid},
                       {&globals[k * embedder.dim()], embedder.dim()});
    }
    if (progress) progress(first + some, used.size());
  }
  return judged;
}

}  // namespace diml
