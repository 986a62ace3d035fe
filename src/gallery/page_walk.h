#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pages.h"

namespace diml::gallery {

// LMDB follows the numbers in its pages without a check: a damaged one ends the process, or the
// next write destroys other records. These functions read the file themselves and believe nothing.

// structure: meta pages, all tree pages and the free list. everything: also the first page of each
// large record (one more page of the file per record), and pages that belong to nothing.
enum class WalkDepth : std::uint8_t { structure, everything };

// The first fault of the two meta pages, which LMDB uses when it opens the file; none where they
// are whole, and where this is no file of LMDB at all: LMDB reports that itself.
std::optional<std::string> fault_of_head(Bytes file);

enum class WalkEnd : std::uint8_t { whole, damaged, overtaken };
struct WalkResult {
  WalkEnd end = WalkEnd::whole;  // overtaken: writers have overwritten that state meanwhile
  std::string fault{};           // "page 17: ..."
  std::uint64_t pages = 0;       // of trees that were looked at
};

// txn: the state to look at. A reader of that state must be open, so that its pages stay.
WalkResult walk_pages(Bytes file, std::uint64_t txn, WalkDepth depth);

}  // namespace diml::gallery
