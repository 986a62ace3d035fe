#include "diml/grid.h"
#include "base/float16.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include "base/enum_names.h"
#include "diml/error.h"
#include "match/int8_cells.h"
#include "match/unit_vectors.h"

namespace diml {
namespace {

constexpr EnumNames<4> kCellTypeNames = {"float32", "float16", "bfloat16", "int8"};

// 1 / |v|, or 0 for the zero vector. In double, so that no finite float32 vector overflows or
// vanishes.
double inverse_norm(std::span<const float> vector) {
  double square = 0.0;
  for (const float value : vector) square += static_cast<double>(value) * value;
  if (!std::isfinite(square)) throw Error("a grid holds NaN or infinity: embed it again");
  return square > 0.0 ? 1.0 / std::sqrt(square) : 0.0;
}

// A unit vector whose numbers were rounded to float32 is shorter or longer than 1 by less than
// this.
constexpr double kUnitTolerance = 1.5e-7;

// The same of a vector whose numbers were rounded to a cell type.
double unit_tolerance(CellType type) {
  constexpr double kFloat16 = 1.0 / (1 << 11);
  constexpr double kBFloat16 = 1.0 / (1 << 8);
  return type == CellType::float32   ? kUnitTolerance
         : type == CellType::float16 ? kFloat16
                                     : kBFloat16;
}

float rounded(float value, CellType type) {
  return type == CellType::float32   ? value
         : type == CellType::float16 ? to_float(to_float16(value))
                                     : to_float(to_bfloat16(value));
}

// type: of the cells that the result is stored in. A vector that was read from such cells is stored
// unchanged.
void normalise(std::span<const float> vector, float* out, CellType type = CellType::float32) {
  if (is_surely_unit(vector)) {
    std::copy(vector.begin(), vector.end(), out);
    return;
  }
  double scale = inverse_norm(vector);
  const bool is_stored = std::abs(scale - 1.0) < unit_tolerance(type) &&
                         std::all_of(vector.begin(), vector.end(),
                                     [type](float value) { return rounded(value, type) == value; });
  if (is_stored || std::abs(scale - 1.0) < kUnitTolerance) scale = 1.0;
  for (std::size_t d = 0; d < vector.size(); ++d) out[d] = static_cast<float>(vector[d] * scale);
}

template <typename T>
T load(const void* base, std::size_t index) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(base) + index * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

float to_int8(std::span<const float> vector, std::span<std::int8_t> out) {
  constexpr double kMost = 127.0;
  double largest = 0.0;
  for (const float value : vector) largest = std::max(largest, std::abs(double{value}));
  std::int64_t square = 0;
  for (std::size_t d = 0; d < vector.size(); ++d) {
    const double share = largest > 0.0 ? vector[d] / largest : 0.0;
    out[d] = static_cast<std::int8_t>(std::lround(share * kMost));
    square += std::int64_t{out[d]} * out[d];
  }
  return square > 0 ? static_cast<float>(1.0 / std::sqrt(static_cast<double>(square))) : 0.0f;
}

std::size_t size_of(CellType type) {
  return type == CellType::float32 ? 4 : type == CellType::int8 ? 1 : 2;
}

std::size_t bytes_of_grid(CellType type, std::size_t cells, std::size_t dim) {
  return cells * dim * size_of(type) + (type == CellType::int8 ? cells * sizeof(float) : 0);
}

const char* name_of(CellType type) { return name_in(kCellTypeNames, type); }

CellType cell_type_from(std::string_view name) {
  return value_in<CellType>(kCellTypeNames, name, "cell type");
}

GridShape shape_of_cells(std::size_t count) {
  for (auto rows = static_cast<std::size_t>(std::lround(std::sqrt(count))); rows > 1; --rows) {
    if (count % rows == 0) return {std::min(rows, count / rows), std::max(rows, count / rows)};
  }
  return {count > 0 ? 1U : 0U, count};
}

void check_grid_shape(std::size_t cells, std::size_t dim) {
  if (cells < 1 || cells > kMostCells) {
    throw Error("a grid has " + std::to_string(cells) + " cells: 1 to " +
                std::to_string(kMostCells) + " (14 x 14) are supported, pool it to fewer");
  }
  if (dim < 1 || dim > kMostDimensions) {
    throw Error("cells have " + std::to_string(dim) + " dimensions: 1 to " +
                std::to_string(kMostDimensions) + " are supported, project them to fewer");
  }
}

float GridView::at(std::size_t cell, std::size_t d) const {
  const std::size_t index = cell * dim + d;
  switch (type) {
    case CellType::float32:
      return load<float>(cells, index);
    case CellType::float16:
      return to_float(load<Float16>(cells, index));
    case CellType::bfloat16:
      return to_float(load<BFloat16>(cells, index));
    case CellType::int8:
      return static_cast<float>(load<std::int8_t>(cells, index)) * scale(cell);
  }
  return 0.0f;
}

float GridView::scale(std::size_t cell) const {
  if (type != CellType::int8) return 1.0f;
  return load<float>(static_cast<const std::byte*>(cells) + count * dim, cell);
}

GridView GridSetView::operator[](std::size_t index) const {
  if (apart) return apart[index];
  const std::size_t bytes = bytes_of_grid(type, cells_per_grid, dim);
  return {static_cast<const std::byte*>(cells) + index * bytes, type, cells_per_grid, dim,
          globals + index * dim};
}

GridSetView set_of(std::span<const GridView> grids) {
  if (grids.empty()) return {};
  const GridView& first = grids[0];
  for (const GridView& grid : grids) {
    if (grid.count != first.count || grid.dim != first.dim || grid.type != first.type) {
      throw Error("the grids of a set must have one shape and type of cells");
    }
  }
  return {nullptr, first.type, grids.size(), first.count, first.dim, nullptr, grids.data()};
}

GridSet::GridSet(const GridSetView& grids)
    : GridSet(grids.size, grids.cells_per_grid, grids.dim, grids.type) {
  for (std::size_t i = 0; i < size_; ++i) put(i, grids[i]);
}

void GridSet::put(std::size_t index, const GridView& grid) {
  if (index >= size_ || grid.count != cells_per_grid_ || grid.dim != dim_ || grid.type != type_) {
    throw Error(ErrorKind::internal, "a grid was put into a set of another shape or type");
  }
  const std::size_t bytes = bytes_of_grid(type_, cells_per_grid_, dim_);
  std::memcpy(cells_.data() + index * bytes, grid.cells, bytes);
  std::memcpy(&globals_[index * dim_], grid.global, dim_ * sizeof(float));
}

GridSet::GridSet(std::size_t size, std::size_t cells_per_grid, std::size_t dim, CellType type)
    : size_(size), cells_per_grid_(cells_per_grid), dim_(dim), type_(type) {
  check_grid_shape(cells_per_grid, dim);
  cells_.resize(size * bytes_of_grid(type, cells_per_grid, dim));
  globals_.resize(size * dim);
}

void GridSet::set(std::size_t index, std::span<const float> cells, std::span<const float> global) {
  if (index >= size_ || cells.size() != cells_per_grid_ * dim_ ||
      (!global.empty() && global.size() != dim_)) {
    throw Error("a grid of " + std::to_string(cells_per_grid_) + " x " + std::to_string(dim_) +
                " was expected at an index below " + std::to_string(size_));
  }
  std::vector<float> mean;
  if (global.empty()) {
    mean = mean_of_cells(cells, dim_);
    global = mean;
  }
  normalise(global, &globals_[index * dim_]);

  const std::size_t cell_bytes = dim_ * size_of(type_);
  std::byte* grid = cells_.data() + index * bytes_of_grid(type_, cells_per_grid_, dim_);
  std::vector<float> unit(dim_);
  for (std::size_t i = 0; i < cells_per_grid_; ++i) {
    const std::span<const float> cell = cells.subspan(i * dim_, dim_);
    if (type_ == CellType::int8) {
      (void)inverse_norm(cell);  // throws on NaN and infinity
      auto* integers = reinterpret_cast<std::int8_t*>(grid) + i * dim_;
      const float scale = to_int8(cell, {integers, dim_});
      std::memcpy(grid + (cells_per_grid_ * dim_ + i * sizeof(scale)), &scale, sizeof(scale));
      continue;
    }
    normalise(cell, unit.data(), type_);
    std::byte* out = grid + i * cell_bytes;
    if (type_ == CellType::float32) {
      std::memcpy(out, unit.data(), cell_bytes);
      continue;
    }
    for (std::size_t d = 0; d < dim_; ++d) {
      const std::uint16_t bits =
          type_ == CellType::float16 ? to_float16(unit[d]).bits : to_bfloat16(unit[d]).bits;
      std::memcpy(out + d * sizeof(bits), &bits, sizeof(bits));
    }
  }
}

GridSetView GridSet::view() const {
  return {cells_.data(), type_, size_, cells_per_grid_, dim_, globals_.data(), nullptr};
}

EmbeddingGrid::EmbeddingGrid(std::span<const float> cells, std::size_t dim,
                             std::span<const float> global, CellType type)
    : set_(1, dim == 0 ? 0 : cells.size() / dim, dim, type) {
  set_.set(0, cells, global);
}

}  // namespace diml
