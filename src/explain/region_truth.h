#pragma once

#include <span>
#include <string>
#include <vector>

#include "explain/part_truth.h"

namespace diml {

// Do regions tell the truth? A part of the source lies in a region: is the same part of the target
// inside the region's target side? A large target side is right more often, so it is compared with
// as many target cells around the part's own position.
struct RegionTruth {
  std::string name;
  std::size_t pairs = 0;
  std::size_t parts = 0;     // questions: parts that both images of a pair show
  double right = 0.0;        // share of them inside the target side of their region
  double right_error = 0.0;  // standard error, with the pair as the unit
  double same_place = 0.0;   // share that as many cells around the part's own position contain
  double same_place_error = 0.0;
  double gain_error = 0.0;     // of right - same_place
  double target_cells = 0.0;   // mean share of the target's cells on a target side, over parts
  double coverage = 0.0;       // median share of the score that is in regions
  double even_coverage = 0.0;  // the same share of an even flow between the same cells: median
  double top_five = 0.0;       // median share of the score of the five strongest pairs of cells
};

// Two rows: without a prior, and with the affine one where the solver has it; params.match says
// everything else.
std::vector<RegionTruth> judge_regions(const GridSetView& grids, GridShape shape,
                                       std::span<const std::vector<PartCell>> parts,
                                       std::span<const ImagePair> pairs,
                                       const PartTruthParams& params,
                                       const Progress& progress = {});

}  // namespace diml
