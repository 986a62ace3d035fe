#pragma once

#include <cstddef>

#include "diml/grid_store.h"

namespace diml {

struct CopyReport {
  std::size_t items = 0;    // of the source
  std::size_t copied = 0;   // by this call
  std::size_t known = 0;    // by an earlier one that ended early: compared, and left as they are
  bool renumbered = false;  // ids are others than those of the source, which has gaps
  bool cancelled = false;
};

// All items of a gallery, in their order, into one of the same kind, so that every search scores
// and orders them as before; ids count from 0 without gaps. Each part is durable before its
// progress is reported. What an earlier call copied is compared bit by bit; throws where the target
// holds anything else, and where the grids of both differ in kind.
CopyReport copy_gallery(const GridStore& from, GridStore& to, const Progress& progress = {});

}  // namespace diml
