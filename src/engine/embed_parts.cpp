#include "engine/embed_parts.h"

#include "diml/error.h"

namespace diml {
namespace {

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
  judged.shape = {embedder.params().grid, embedder.params().grid};
  judged.pairs = pairs_of_classes(labels, params.pairs, params.seed);
  const std::vector<const Sample*> used = used_in(shown, judged.pairs);
  judged.grids = GridSet(used.size(), embedder.cells_per_grid(), embedder.dim());
  judged.parts.resize(used.size());
  std::vector<std::string> paths;
  for (const Sample* sample : used) {
    judged.labels.push_back(sample->label);
    paths.push_back(sample->path);
  }
  const Preprocessing& seen = embedder.preprocessing();
  const auto keep = [&](const EmbeddedBatch& batch) {
    // A pair needs both of its images: one that cannot be read ends the work.
    if (!batch.bad.empty()) throw Error(batch.bad.front().why);
    put_grids(batch, judged.grids, batch.first);
  };
  embedder.embed_files(
      paths, {.bad = BadImages::skip}, keep, progress, [&](std::size_t index, const Image& whole) {
        judged.parts[index] = cells_of_parts(used[index]->parts, whole.width, whole.height,
                                             seen.resize, seen.crop, judged.shape);
      });
  return judged;
}

}  // namespace diml
