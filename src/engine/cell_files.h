#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/npy.h"
#include "diml/grid.h"

namespace diml {

// How the values of an array of cells lie.
enum class CellLayout : std::uint8_t {
  automatic,       // "auto": by the shape; refused where the shape does not tell
  cells_last,      // "nrd": [images, cells, dimensions]
  channels_first,  // "nchw": [images, dimensions, rows, columns], as PyTorch's feature maps
  channels_last,   // "nhwc": [images, rows, columns, dimensions]
};
CellLayout cell_layout_from(std::string_view name);
const char* name_of(CellLayout layout);

// Cells of images in a .npy file of any layout and, where there is one, the file of their global
// vectors. What does not fit is refused with the file's name and the remedy.
class CellFiles {
 public:
  // An array of cells, as it lies.
  struct Shape {
    CellLayout layout = CellLayout::cells_last;
    std::size_t images = 0;
    std::size_t cells = 0;
    std::size_t dim = 0;
    std::size_t rows = 0;  // 0: the layout does not tell
  };

  // globals: "" for the means of the cells.
  CellFiles(const std::string& cells, const std::string& globals, CellLayout layout);

  std::size_t size() const { return shape_.images; }
  std::size_t cells_per_grid() const { return shape_.cells; }
  std::size_t dim() const { return shape_.dim; }
  std::size_t rows() const { return shape_.rows; }
  // How the cells were understood, in words; "" where that was plain or told.
  const std::string& layout() const { return told_; }

  // Grids of any scale, into a set that makes them unit ones. From any thread.
  void read(std::size_t first, std::size_t count, GridSet& grids, std::size_t place) const;

 private:
  void expect_globals_that_fit() const;

  NpyFile cells_;
  std::unique_ptr<NpyFile> globals_;
  Shape shape_;
  std::string told_;
};

}  // namespace diml
