#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace diml {

constexpr std::size_t kMostCells = std::size_t{14} * 14;
constexpr std::size_t kMostDimensions = 4096;

// The type of stored cells; sums are always float32 or better. float16 halves the memory at an
// error of about 1e-5 in a score. bfloat16 halves it too, at an error of about 3e-4
// (128 dimensions; more where there are fewer); on CPUs with bfloat16 dot products it also halves
// the time of the similarities. int8 quarters the memory at an error of about 2e-3: a cell is the
// direction of D integers from -127 to 127, the largest of them 127. Behind the cells of such a
// grid lie the lengths of these integers, inverted: one float32 for each cell
// (docs/decisions/0023).
enum class CellType : std::uint8_t { float32, float16, bfloat16, int8 };

std::size_t size_of(CellType type);  // of one number
std::size_t bytes_of_grid(CellType type, std::size_t cells, std::size_t dim);
const char* name_of(CellType type);
CellType cell_type_from(std::string_view name);

// One image: R unit cells x D, row-major, and one unit global vector. A zero cell is allowed: its
// similarities are 0. Pointers need no alignment beyond their element's.
struct GridView {
  const void* cells = nullptr;  // [count, dim] of `type`; int8: and float32 [count] behind them
  CellType type = CellType::float32;
  std::size_t count = 0;          // R
  std::size_t dim = 0;            // D
  const float* global = nullptr;  // [dim]

  float at(std::size_t cell, std::size_t d) const;
  float scale(std::size_t cell) const;  // of stored numbers: 1, but for int8
};

// Many grids of one shape: contiguous in memory, or each at its own address.
struct GridSetView {
  const void* cells = nullptr;  // [size] x bytes_of_grid()
  CellType type = CellType::float32;
  std::size_t size = 0;
  std::size_t cells_per_grid = 0;
  std::size_t dim = 0;
  const float* globals = nullptr;  // [size, dim]
  // [size]: the address of each grid, in place of `cells` and `globals`.
  const GridView* apart = nullptr;

  GridView operator[](std::size_t index) const;
};

// Grids at separate addresses, as a set. They must have one shape and type.
GridSetView set_of(std::span<const GridView> grids);

// Owns grids and normalises them: set() applies L2 normalisation, cell by cell. A vector that has
// length 1 within the rounding of its type is stored unchanged, so that a grid keeps its bits when
// it is copied from set to set or through a file.
class GridSet {
 public:
  GridSet() = default;
  GridSet(std::size_t size, std::size_t cells_per_grid, std::size_t dim,
          CellType type = CellType::float32);
  // A copy, bit for bit.
  explicit GridSet(const GridSetView& grids);

  // cells: [cells_per_grid, dim] of any scale; global: [dim], or empty for the mean of the cells.
  // Throws on NaN and infinity. Different indices may be set from different threads.
  void set(std::size_t index, std::span<const float> cells, std::span<const float> global = {});

  // A grid of the set's shape and type, bit for bit. Threads: as for set().
  void put(std::size_t index, const GridView& grid);

  GridSetView view() const;
  GridView operator[](std::size_t index) const { return view()[index]; }
  std::size_t size() const { return size_; }
  std::size_t cells_per_grid() const { return cells_per_grid_; }
  std::size_t dim() const { return dim_; }
  CellType type() const { return type_; }

 private:
  std::size_t size_ = 0;
  std::size_t cells_per_grid_ = 0;
  std::size_t dim_ = 0;
  CellType type_ = CellType::float32;
  std::vector<std::byte> cells_;
  std::vector<float> globals_;
};

// A grid that owns its cells: a set of one.
class EmbeddingGrid {
 public:
  // cells: [count, dim] of any scale, normalised here; global: [dim], or empty for the mean of the
  // cells.
  EmbeddingGrid(std::span<const float> cells, std::size_t dim, std::span<const float> global = {},
                CellType type = CellType::float32);
  GridView view() const { return set_[0]; }
  operator GridView() const { return view(); }

 private:
  GridSet set_;
};

// How the cells of a grid lie in the image: row-major, row by row from the top.
struct GridShape {
  std::size_t rows = 0;
  std::size_t cols = 0;

  std::size_t count() const { return rows * cols; }
  bool operator==(const GridShape&) const = default;
};

// The shape of `count` cells where it is not known: a square where they make one, else the nearest
// rectangle, wider than high.
GridShape shape_of_cells(std::size_t count);

// Throws unless the grid has 1 to kMostCells cells of 1 to kMostDimensions dimensions.
void check_grid_shape(std::size_t cells, std::size_t dim);

}  // namespace diml
