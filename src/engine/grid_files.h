#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diml/evaluate.h"
#include "diml/grid.h"
#include "diml/matcher.h"
#include "diml/progress.h"
#include "engine/cell_files.h"

namespace diml {

// Arrays on disk that become what the library computes with. What does not fit is refused with the
// file's name and the remedy.

struct GridFiles {
  std::string cells;      // .npy float, of any layout
  std::string globals{};  // .npy float [N, D]; "": the means of the cells
  CellLayout layout = CellLayout::automatic;
  CellType storage = CellType::float32;
  int threads = 0;
  // Only these images, in this order; empty: all.
  std::vector<std::size_t> images{};
};

struct LoadedGrids {
  GridSet grids;         // normalised
  std::size_t rows = 0;  // of a grid, where the layout tells; 0: unknown
  // Empty where it is unknown.
  GridShape shape() const {
    return rows > 0 ? GridShape{rows, grids.cells_per_grid() / rows} : GridShape{};
  }
  std::string layout{};  // how the cells were understood, in words, where that was not plain
};
LoadedGrids load_grids(const GridFiles& files, const Progress& progress = {});

struct LoadedLabels {
  std::vector<std::int64_t> values;
  std::vector<std::string> names{};  // of the values 0, 1, 2 and so on, where the file has words

  std::string word_of(std::size_t image) const;  // "" without a label
};
// .npy integers or words [N]. count: how many there must be. The word "" is no label.
LoadedLabels load_labels(const std::string& path, std::size_t count);

// .npy integers [N]: 1 for a query, 2 for an image of the gallery, 3 for both. count: how many
// there must be.
std::vector<Role> load_roles(const std::string& path, std::size_t count);

// .npy integers [M, 2], each (source, target) below `count`.
std::vector<Pair> load_pairs(const std::string& path, std::size_t count);

}  // namespace diml
