#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/npy.h"
#include "cli/program_folder.h"
#include "diml/grid.h"
#include "diml/matcher.h"

namespace diml::test {

using Shape = std::vector<std::size_t>;

void write_floats(const std::string& path, const Shape& shape, const std::vector<float>& values,
                  ArrayType type = ArrayType::float32);
void write_integers(const std::string& path, const Shape& shape,
                    const std::vector<std::int64_t>& values);

// Throws unless the file is float32 of this shape.
std::vector<float> read_floats(const std::string& path, const Shape& shape);

// A folder with good input: C.npy (cells), V.npy (globals), P.npy (pairs), L.npy (labels).
class GridFolder : public ProgramFolder {
 protected:
  static constexpr std::size_t kImages = 12;
  static constexpr std::size_t kCells = 6;
  static constexpr std::size_t kDim = 16;

  GridFolder();

  // `diml match` from the four files into S.npy, and `diml evaluate`, each with `more` options.
  static Arguments match(const Arguments& more = {});
  static Arguments evaluate(const Arguments& more = {});

  // The scores that `diml match` writes with these options, one a pair.
  std::vector<float> match_scores(const Arguments& more = {}) const;

  // What C.npy and V.npy hold, as the library sees it.
  GridSet grids() const;

  std::vector<float> cells_;    // [kImages, kCells, kDim], of any scale
  std::vector<float> globals_;  // [kImages, kDim], of any scale
  const std::vector<Pair> pairs_ = {{0, 1}, {1, 0}, {3, 3}, {11, 2}, {5, 8}, {0, 7}, {9, 10}};
  const std::vector<std::int64_t> labels_ = {4, 4, 4, -2, -2, -2, 7, 7, 7, 9, 9, 9};
};

// The library's answer for the pairs, by the reference unless params say otherwise.
std::vector<StructuralMatch> library_matches(const GridSet& grids, const std::vector<Pair>& pairs,
                                             const MatchParams& params = {});

}  // namespace diml::test
