#include "engine/labelled_grids.h"

#include "diml/error.h"

namespace diml {
namespace {

// The values of the images that could be read.
template <class T>
std::vector<T> of_kept(const std::vector<T>& all, const std::vector<std::size_t>& kept) {
  std::vector<T> some;
  if (all.empty()) return some;
  for (const std::size_t index : kept) some.push_back(all[index]);
  return some;
}

}  // namespace

LabelledGrids embed_labelled(ProcessGroup& processes, Embedder& embedder,
                             const LabelledImages& images, BadImages bad, CellType storage,
                             const Progress& progress) {
  if (images.paths.empty()) {
    throw Error("no image of the data set is a query or in the gallery: give some of them a role");
  }
  LabelledGrids made;
  made.files = embed_to_memory(processes, embedder, images.paths, {images.orientation, bad},
                               storage, progress);
  made.labels = of_kept(images.labels, made.files.kept);
  made.roles = of_kept(images.roles, made.files.kept);
  return made;
}

}  // namespace diml
