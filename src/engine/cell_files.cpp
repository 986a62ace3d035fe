#include "engine/cell_files.h"

#include <algorithm>
#include <cmath>

#include "base/enum_names.h"
#include "diml/error.h"

namespace diml {
namespace {

using CellShape = CellFiles::Shape;

constexpr EnumNames<4> kLayouts = {"auto", "nrd", "nchw", "nhwc"};

[[noreturn]] void refuse(const NpyFile& file, const std::string& wanted) {
  throw Error(file.path() + ": is " + name_of(file.type()) + " " + shape_text(file.shape()) +
              " where " + wanted);
}

// int8: the integers of `to_int8`, or any others in the direction of a vector.
void expect_numbers(const NpyFile& file) {
  if (!is_float(file.type()) && file.type() != ArrayType::int8) {
    refuse(file, "floats are wanted: convert it with .astype(numpy.float32)");
  }
}

constexpr const char* kNhwc = ".transpose(0, 2, 3, 1)";

CellShape shape_as(const NpyFile& file, CellLayout layout) {
  const std::vector<std::size_t>& shape = file.shape();
  const std::size_t wanted = layout == CellLayout::cells_last ? 3 : 4;
  if (shape.size() != wanted) {
    refuse(file, std::string("layout ") + name_of(layout) + " has " + std::to_string(wanted) +
                     " dimensions");
  }
  if (layout == CellLayout::cells_last) return {layout, shape[0], shape[1], shape[2]};
  if (layout == CellLayout::channels_first)
    return {layout, shape[0], shape[2] * shape[3], shape[1], shape[2]};
  return {layout, shape[0], shape[1] * shape[2], shape[3], shape[1]};
}

// Feature maps are square, or the global vectors say how many dimensions there are.
CellLayout layout_of(const NpyFile& file, const NpyFile* globals) {
  const std::vector<std::size_t>& shape = file.shape();
  if (shape.size() == 3) return CellLayout::cells_last;
  if (shape.size() != 4) {
    refuse(file,
           "[images, cells, dimensions], [images, dimensions, rows, columns] or [images, rows, "
           "columns, dimensions] is wanted");
  }
  const bool known = globals != nullptr && globals->shape().size() == 2;
  const auto fits = [&](CellLayout layout, std::size_t rows, std::size_t columns) {
    const std::size_t dim = shape_as(file, layout).dim;
    return known ? globals->shape()[1] == dim : rows == columns;
  };
  const bool first = fits(CellLayout::channels_first, shape[2], shape[3]);
  const bool last = fits(CellLayout::channels_last, shape[1], shape[2]);
  if (first != last) return first ? CellLayout::channels_first : CellLayout::channels_last;
  throw Error(ErrorKind::bad_input,
              file.path() + ": is " + shape_text(file.shape()) +
                  ", and its shape does not tell where the dimensions are: name the layout nchw or "
                  "nhwc (numpy's " +
                  kNhwc + " makes nhwc of nchw)",
              "layout");
}

// More cells than dimensions, and no global vectors that contradict it.
bool may_be_turned(const CellShape& shape, const NpyFile* globals) {
  return globals == nullptr && shape.layout == CellLayout::cells_last && shape.cells > shape.dim;
}

constexpr const char* kMayBeTurned =
    "; if it is [images, dimensions, cells], transpose it with .transpose(0, 2, 1)";

// What an array was taken for, where its shape leaves a doubt; "" where it does not.
std::string guess_text(const NpyFile& file, const CellShape& shape, const NpyFile* globals) {
  const bool is_map = shape.layout != CellLayout::cells_last;
  const bool turned = may_be_turned(shape, globals);
  if (!is_map && !turned) return "";
  const char* axes = shape.layout == CellLayout::channels_first
                         ? "[images, dimensions, rows, columns]"
                     : is_map ? "[images, rows, columns, dimensions]"
                              : "[images, cells, dimensions]";
  return file.path() + ": " + shape_text(file.shape()) + " is read as " + axes + ": " +
         std::to_string(shape.cells) + " cells of " + std::to_string(shape.dim) + " dimensions" +
         (turned ? kMayBeTurned : "");
}

// [dim, cells] of one image to [cells, dim].
void transpose(std::span<const float> from, std::size_t cells, std::size_t dim,
               std::span<float> to) {
  for (std::size_t d = 0; d < dim; ++d) {
    for (std::size_t cell = 0; cell < cells; ++cell) to[cell * dim + d] = from[d * cells + cell];
  }
}

// values: `length` floats an image, from image `first` on.
void expect_finite(const std::vector<float>& values, std::size_t length, std::size_t first,
                   const std::string& path) {
  const auto bad =
      std::find_if_not(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
  if (bad == values.end()) return;
  const std::size_t image = first + static_cast<std::size_t>(bad - values.begin()) / length;
  throw Error(path + ": image " + std::to_string(image) + " holds NaN or infinity: embed it again");
}

}  // namespace

CellLayout cell_layout_from(std::string_view name) {
  return value_in<CellLayout>(kLayouts, name, "layout");
}

const char* name_of(CellLayout layout) { return name_in(kLayouts, layout); }

CellFiles::CellFiles(const std::string& cells, const std::string& globals, CellLayout layout)
    : cells_(cells) {
  expect_numbers(cells_);
  if (!globals.empty()) {
    globals_ = std::make_unique<NpyFile>(globals);
    expect_numbers(*globals_);
  }
  const bool guessed = layout == CellLayout::automatic;
  shape_ = shape_as(cells_, guessed ? layout_of(cells_, globals_.get()) : layout);
  if (shape_.images == 0) refuse(cells_, "at least one image is wanted");
  expect_globals_that_fit();
  try {
    check_grid_shape(shape_.cells, shape_.dim);
  } catch (const Error& error) {
    const std::string turned = may_be_turned(shape_, globals_.get()) ? kMayBeTurned : "";
    throw with_context(error, cells + ": ", turned);
  }
  if (guessed) told_ = guess_text(cells_, shape_, globals_.get());
}

void CellFiles::expect_globals_that_fit() const {
  if (!globals_) return;
  const std::vector<std::size_t> wanted = {shape_.images, shape_.dim};
  const std::vector<std::size_t> swapped = {shape_.images, shape_.cells};
  if (globals_->shape() == swapped && shape_.cells != shape_.dim) {
    refuse(cells_, "the global vectors have " + std::to_string(shape_.cells) +
                       " dimensions: it looks like [images, dimensions, cells], transpose it "
                       "with .transpose(0, 2, 1)");
  }
  if (globals_->shape() != wanted) {
    refuse(*globals_, shape_text(wanted) + " is wanted, to go with " + cells_.path() +
                          ": embed both from the same images");
  }
}

void CellFiles::read(std::size_t first, std::size_t count, GridSet& grids,
                     std::size_t place) const {
  const std::size_t of_grid = shape_.cells * shape_.dim;
  std::vector<float> cell_values(count * of_grid);
  std::vector<float> global_values(globals_ ? count * shape_.dim : 0);
  cells_.read_floats(first * of_grid, cell_values);
  expect_finite(cell_values, of_grid, first, cells_.path());
  if (globals_) {
    globals_->read_floats(first * shape_.dim, global_values);
    expect_finite(global_values, shape_.dim, first, globals_->path());
  }
  std::vector<float> turned(shape_.layout == CellLayout::channels_first ? of_grid : 0);
  for (std::size_t i = 0; i < count; ++i) {
    std::span<const float> cells = std::span(cell_values).subspan(i * of_grid, of_grid);
    if (!turned.empty()) {
      transpose(cells, shape_.cells, shape_.dim, turned);
      cells = turned;
    }
    grids.set(place + i, cells,
              globals_ ? std::span(global_values).subspan(i * shape_.dim, shape_.dim)
                       : std::span<float>());
  }
}

}  // namespace diml
