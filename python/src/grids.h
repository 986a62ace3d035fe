#pragma once

#include <memory>
#include <vector>

#include "calls.h"
#include "diml/grid.h"

namespace diml::python {

using FloatArray = py::array_t<float, py::array::c_style | py::array::forcecast |
                                          py::detail::npy_api::NPY_ARRAY_ALIGNED_>;

// Grids that came from Python. Arrays of contiguous float32 whose vectors have length 1 are used
// where they lie; all others are converted and normalised into a copy, by the library's rule, so
// that both ways give the same bits.
class Grids {
 public:
  // cells: [N, R, D]; globals: [N, D], or None for the means of the cells.
  static std::shared_ptr<Grids> of_array(const py::object& cells, const py::object& globals);
  // cells: [R, D]; global: [D] or None. Always a copy.
  static std::shared_ptr<Grids> of_one(const py::object& cells, const py::object& global);
  // cells: a sequence of [R_i, D], which may differ in R; globals: [N, D] or None.
  static std::shared_ptr<Grids> of_list(const py::sequence& cells, const py::object& globals);

  // Grids of the library's own, of any type of cells.
  static std::shared_ptr<Grids> of_set(GridSet set);

  std::size_t size() const { return places_.size(); }
  std::size_t dim() const { return groups_.front().dim; }

  // Grids of one shape make a group.
  struct Place {
    std::size_t group = 0;
    std::size_t index = 0;
  };
  const std::vector<GridSetView>& groups() const { return groups_; }
  Place place(std::size_t grid) const { return places_[grid]; }
  GridView operator[](std::size_t grid) const {
    return groups_[places_[grid].group][places_[grid].index];
  }
  // All of them as one set. Throws where they differ in shape. what: "evaluate", for the message.
  GridSetView one_shape(const char* what) const;
  // [size, dim], side by side.
  const std::vector<float>& copied_globals();

  bool cells_in_place() const;
  bool globals_in_place() const;

 private:
  // One array, [N, R, D], and what was made of it.
  struct Block {
    FloatArray cells;
    FloatArray globals;
    GridSet copy;                    // empty where the cells are used in place
    std::vector<float> own_globals;  // empty where the globals are used in place, or in the copy
    GridSetView view;
  };
  static Block block_of(const py::object& cells, const py::object& globals, std::size_t count,
                        const std::string& name);
  void take_all(const GridSetView& view);
  void group();

  std::vector<Block> blocks_;
  std::vector<std::vector<GridView>> apart_;  // of the groups of a list
  std::vector<GridSetView> groups_;
  std::vector<Place> places_;
  std::vector<float> globals_;
};

}  // namespace diml::python
