#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "diml/gallery.h"
#include "diml/grid.h"
#include "diml/progress.h"
#include "engine/cell_files.h"
#if DIML_HAS_NETWORKS
#include "diml/embedder.h"
#endif

namespace diml::cli {

// Some queries at a time, in order, so that any number of them takes the same memory.
struct QueryBatch {
  GridSetView grids;
  std::vector<std::string> names;
  std::vector<std::vector<std::uint8_t>> thumbnails;  // [names], JPEG or nothing
  std::vector<std::int64_t> ids;                      // of items of the gallery; or empty
};
using TakeBatch = std::function<void(const QueryBatch& batch)>;

// Each gives all its queries to `take`, and can be cancelled between two batches.
void ask_items(const GridSnapshot& snapshot, const std::vector<std::int64_t>& ids,
               const TakeBatch& take, const Progress& progress);
void ask_embeddings(const GridStore& gallery, const std::string& prefix, CellLayout layout,
                    const TakeBatch& take, const Progress& progress);

#if DIML_HAS_NETWORKS
// Photos by their names. A folder stands for all photos in it, and a text file that is not a photo
// for those that it lists, a path a line.
std::vector<std::string> photos_of(const std::vector<std::string>& given);

struct PhotoQueries {
  BadImages bad = BadImages::stop;
  bool thumbnails = false;
};
// why_bad: of each photo that could not be read and is left out.
void ask_photos(Embedder& embedder, CellType type, const std::vector<std::string>& photos,
                const PhotoQueries& params, const TakeBatch& take, const Progress& progress,
                std::vector<std::string>& why_bad);
#endif

}  // namespace diml::cli
