#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diml/evaluate.h"
#include "diml/grid.h"
#include "diml/matcher.h"
#include "diml/threads.h"

namespace diml {

// Arrays on disk that become what the library computes with. What does not fit is refused with the
// file's name and the remedy.

// cells: .npy float [N, R, D]; globals: .npy float [N, D], or "" for the means of the cells. Both
// are normalised.
GridSet load_grids(const std::string& cells, const std::string& globals, CellType storage,
                   int threads = 0, const Progress& progress = {});

// .npy int64 [N]. count: how many there must be.
std::vector<std::int64_t> load_labels(const std::string& path, std::size_t count);

// .npy int64 [N]: 1 for a query, 2 for an image of the gallery, 3 for both. count: how many there
// must be.
std::vector<Role> load_roles(const std::string& path, std::size_t count);

// .npy int64 [M, 2], each (source, target) below `count`.
std::vector<Pair> load_pairs(const std::string& path, std::size_t count);

}  // namespace diml
