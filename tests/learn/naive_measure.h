#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "diml/match.h"

namespace diml::learn::test {

// Grids of any scale as plain numbers.
struct PlainGrids {
  std::size_t size = 0;
  std::size_t cells_per_grid = 0;
  std::size_t dim = 0;
  std::vector<double> globals;  // [size, dim]
  std::vector<double> cells;    // [size, cells_per_grid, dim]

  std::vector<double> unit_global(std::size_t index) const;
  std::vector<double> unit_cell(std::size_t index, std::size_t cell) const;
  double norm(std::size_t index) const;
};

// Deterministic, not of unit length.
PlainGrids random_grids(std::size_t size, std::size_t cells_per_grid, std::size_t dim,
                        std::uint64_t seed);
// values: [size, max(1, cells), dim]; the global is the mean.
PlainGrids grids_of_proxies(const std::vector<double>& values, std::size_t size, std::size_t cells,
                            std::size_t dim);

using Matrix = std::vector<std::vector<double>>;

// The plan of every pair, from diml::match: [x.size][y.size][R_x * R_y].
using Plans = std::vector<Matrix>;
Plans plans_between(const PlainGrids& x, const PlainGrids& y, const MatchParams& params = {});

enum class Kind : std::uint8_t { global, structural, blended };
enum class Local : std::uint8_t { similarity, distance, noise };

double local(Local what, const std::vector<double>& x, const std::vector<double>& y);

// The measure in plain loops. plans: not looked at by Kind::global.
Matrix measured(Kind kind, Local what, const PlainGrids& x, const PlainGrids& y,
                const Plans& plans);

}  // namespace diml::learn::test
