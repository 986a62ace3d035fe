#pragma once

#include <functional>
#include <span>
#include <string>

#include "diml/embedder.h"
#include "diml/grid.h"
#include "engine/process_group.h"

namespace diml {

// Embedder::embed_files by all processes of a call, each with its share of the files. `sink` is
// called on the root process, with every chunk in order, as in a process alone. A file that one
// process cannot read ends all of them with its message, unless bad ones are skipped. A process
// whose progress is cancelled ends all of them.
void embed_together(ProcessGroup& processes, Embedder& embedder, std::span<const std::string> paths,
                    const EmbedFilesParams& params,
                    const std::function<void(const EmbeddedBatch&)>& sink,
                    const Progress& progress = {});

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

// embed_together into the memory of the root process.
EmbeddedFiles embed_to_memory(ProcessGroup& processes, Embedder& embedder,
                              std::span<const std::string> paths, const EmbedFilesParams& params,
                              CellType storage, const Progress& progress = {});

}  // namespace diml
