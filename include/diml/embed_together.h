#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "diml/embedder.h"
#include "diml/grid.h"
#include "diml/process_group.h"

namespace diml {

// Embedder::embed_files by all processes of a call, each with its share of the files. `sink` is
// called where the files are written, with every stretch in order, as if that one were alone.
// A file that one of them cannot read ends all with its message, unless bad ones are skipped.
// stop: asked by each of them now and then; one that says yes stops all. Returns whether they came
// to the end.
bool embed_together(ProcessGroup& processes, Embedder& embedder, std::span<const std::string> paths,
                    Orientation orientation, BadImages bad,
                    const std::function<void(const EmbeddedBatch&)>& sink,
                    const std::function<bool()>& stop = {});

// All grids of a list of files, in memory.
struct EmbeddedFiles {
  GridSet set;
  std::vector<std::size_t> kept;  // places in the list of those that could be read
  std::vector<std::string> bad;   // why the others could not

  // The last places of the set are empty where images were left out.
  GridSetView view() const {
    GridSetView grids = set.view();
    grids.size = kept.size();
    return grids;
  }
};

struct EmbedFilesParams {
  Orientation orientation = Orientation::as_stored;
  BadImages bad = BadImages::stop;
  CellType storage = CellType::float32;
};

// embed_together into memory, of the process that writes. nullopt, on all of them, where `stop`
// said so.
std::optional<EmbeddedFiles> embed_to_memory(ProcessGroup& processes, Embedder& embedder,
                                             std::span<const std::string> paths,
                                             const EmbedFilesParams& params,
                                             const Progress& progress = {},
                                             const std::function<bool()>& stop = {});

}  // namespace diml
