#pragma once

#include <cstdint>
#include <vector>

#include "diml/evaluate_dataset.h"
#include "engine/embed_together.h"

namespace diml {

// The grids of a data set's images, with the labels and roles of those that could be read.
struct LabelledGrids {
  EmbeddedFiles files;
  std::vector<std::int64_t> labels;
  std::vector<Role> roles;  // empty where every image is query and gallery
};

// The one way from a data set to grids with labels. Every process embeds its share; the root
// process has the grids.
LabelledGrids embed_labelled(ProcessGroup& processes, Embedder& embedder,
                             const LabelledImages& images, BadImages bad, CellType storage,
                             const Progress& progress = {});

}  // namespace diml
