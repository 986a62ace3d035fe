#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "calls.h"
#include "diml/candidates.h"
#include "diml/grid.h"

namespace diml::python {

using FloatArray = py::array_t<float, py::array::c_style | py::array::forcecast |
                                          py::detail::npy_api::NPY_ARRAY_ALIGNED_>;

// Scores that are no transport compare grids of any number of cells.
enum class Lengths : bool { of_a_grid, any };

// Grids that came from Python. Arrays of contiguous float32 whose vectors have length 1 are used
// where they lie. A few grids among them that are not so are copied, and all where these are many:
// normalised by the library's rule, so that every way gives the same bits.
class Grids {
 public:
  // cells: [N, R, D]; globals: [N, D], or None for the means of the cells.
  static std::shared_ptr<Grids> of_array(const py::object& cells, const py::object& globals,
                                         Lengths lengths);
  // cells: [R, D]; global: [D] or None; name: of the argument, for messages. Always a copy.
  static std::shared_ptr<Grids> of_one(const py::object& cells, const py::object& global,
                                       const char* name);
  // cells: a sequence of [R_i, D], which may differ in R; globals: [N, D] or None.
  static std::shared_ptr<Grids> of_list(const py::sequence& cells, const py::object& globals,
                                        Lengths lengths);

  // Grids of the library's own, of any type of cells.
  static std::shared_ptr<Grids> of_set(GridSet set);

  // What pickle keeps, and grids of it with the same bits.
  py::tuple state() const;
  static std::shared_ptr<Grids> of_state(const py::tuple& state);

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
  // [size, dim], side by side: where they lie, or copied once.
  VectorsView globals() const;

  std::size_t copied_cells() const;    // grids whose cells are used in a copy
  std::size_t copied_globals() const;  // grids whose globals are
  // A copy that has nothing to do with Python. The grids must have one shape.
  GridSet copy() const { return GridSet(one_shape("a copy")); }

 private:
  // One array, [size, cells_per_grid, dim], and what was made of it.
  struct Block {
    std::string name;       // of the argument, for messages
    py::object kept_cells;  // the arrays, while they are used in place
    py::object kept_globals;
    const float* cells = nullptr;
    const float* globals = nullptr;  // null: the means of the cells
    std::size_t size = 0;
    std::size_t cells_per_grid = 0;
    std::size_t dim = 0;

    GridSet set;                     // of_set()'s
    std::vector<float> own_cells;    // of the grids that are copied, one after the other
    std::vector<float> own_globals;  // of all grids; empty where the globals are used in place
    std::vector<GridView> apart;     // where some grids are copied
    GridSetView view;

    // With the GIL: checks the arrays.
    Block(const py::object& given_cells, const py::object& given_globals, std::size_t count,
          const std::string& name, Lengths lengths);
    explicit Block(GridSet own);
    // A group of pickled grids, whose bytes are copied.
    Block(const GridSetView& shape, const py::bytes& own_cells, const py::bytes& own_globals);
    // Whether a quick look finds that all vectors have length 1.
    bool stay_where_they_are(int threads, const Progress& progress) const;
    // Where the i-th grid is in what the caller gave.
    std::string place_of(std::size_t i) const;
    // The globals of all, from their cells, which stay.
    void take_means(int threads, const Progress& progress);
    // Without: makes the view. progress: asked whether it is cancelled.
    void normalise(int threads, const Progress& progress);
    // With the GIL, afterwards: drops arrays that are not used in place.
    void drop_unused();
    std::size_t copied() const;
  };
  void take_all(const GridSetView& view);
  void group();

  std::vector<Block> blocks_;
  std::vector<std::vector<GridView>> apart_;  // of the groups of a list
  std::vector<GridSetView> groups_;
  std::vector<Place> places_;
  mutable std::once_flag globals_copied_;
  mutable std::vector<float> globals_;
};

}  // namespace diml::python
