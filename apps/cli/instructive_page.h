#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "diml/evaluate.h"
#include "diml/explain.h"
#include "diml/grid.h"
#include "diml/progress.h"
#include "named_images.h"
#include "per_query.h"
#include "pictures.h"

namespace diml::cli {

// Queries worth a look, as places in RerankResult::queries; at most `most` of each kind.
struct InstructiveQueries {
  std::vector<std::size_t> fixed;   // the largest gain of average precision first
  std::vector<std::size_t> broken;  // the largest loss first
  std::vector<std::size_t> wrong;   // before and after: the latest right image first
  std::size_t all_fixed = 0;        // how many of each kind there are
  std::size_t all_broken = 0;
  std::size_t all_wrong = 0;
};
InstructiveQueries instructive_queries(const ComparedDepths& depths, std::size_t most);

struct InstructivePage {
  std::string title;
  GridSetView grids;
  GridShape shape{};  // of every grid
  MatchParams match{};
  ScoreWeights weights{};
  std::size_t most = 6;  // queries of each kind
};

// One HTML file: it contains the pictures and the explanations, which open on request, and loads
// nothing.
std::string instructive_page(const InstructivePage& page, const ComparedDepths& depths,
                             const NamedImages& images, Pictures& pictures,
                             const Progress& progress = {});

}  // namespace diml::cli
