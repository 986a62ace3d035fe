#include "grids.h"

#include <atomic>
#include <cstring>
#include <map>

#include "base/threads.h"

namespace diml::python {
namespace {

constexpr std::size_t kGridsAtOnce = 64;

std::string shape_text(const py::array& array) {
  std::string text = "[";
  for (py::ssize_t d = 0; d < array.ndim(); ++d) {
    text += (d == 0 ? "" : ", ") + std::to_string(array.shape(d));
  }
  return text + "]";
}

// name: of the argument, for messages.
FloatArray floats_of(const py::object& object, const std::string& name) {
  const py::array array = py::array::ensure(object);
  if (!array) {
    PyErr_Clear();
    throw py::type_error(name + " must be a NumPy array of numbers");
  }
  if (std::string_view("biuf").find(array.dtype().kind()) == std::string_view::npos) {
    throw py::type_error(name + " has the type " + py::str(array.dtype()).cast<std::string>() +
                         ": numbers are wanted, convert it with .astype(numpy.float32)");
  }
  FloatArray floats = FloatArray::ensure(array);
  if (!floats) throw py::error_already_set();
  return floats;
}

}  // namespace

Grids::Block Grids::block_of(const py::object& cells, const py::object& globals, std::size_t count,
                             const std::string& name) {
  Block block;
  block.cells = floats_of(cells, name);
  const bool one = count == 1 && block.cells.ndim() == 2;
  if (!one && block.cells.ndim() != 3) {
    throw Error(name + " is " + shape_text(block.cells) +
                (count == 1 ? ": [cells, dimensions] is wanted"
                            : ": [images, cells, dimensions] is wanted"));
  }
  const py::ssize_t lead = one ? 0 : 1;
  const auto size = one ? std::size_t{1} : static_cast<std::size_t>(block.cells.shape(0));
  const auto cells_per_grid = static_cast<std::size_t>(block.cells.shape(lead));
  const auto dim = static_cast<std::size_t>(block.cells.shape(lead + 1));
  if (size == 0) throw Error(name + " is empty: at least one image is wanted");
  check_grid_shape(cells_per_grid, dim);
  const bool given = !globals.is_none();
  if (given) {
    block.globals = floats_of(globals, "globals");
    if (static_cast<std::size_t>(block.globals.size()) != size * dim ||
        static_cast<std::size_t>(block.globals.shape(block.globals.ndim() - 1)) != dim) {
      throw Error("globals is " + shape_text(block.globals) + " where [" + std::to_string(size) +
                  ", " + std::to_string(dim) + "] is wanted, to go with " + name);
    }
  }

  const float* cell_data = block.cells.data();
  const float* global_data = given ? block.globals.data() : nullptr;
  const std::size_t of_grid = cells_per_grid * dim;
  const auto cells_of = [&](std::size_t i) { return std::span(cell_data + i * of_grid, of_grid); };
  const auto global_of = [&](std::size_t i) {
    return given ? std::span(global_data + i * dim, dim) : std::span<const float>();
  };
  std::vector<float> made(size * dim);
  std::atomic<bool> cells_stay{true};
  std::atomic<bool> globals_stay{given};
  const py::gil_scoped_release without_gil;
  // The library says which vectors it would leave unchanged.
  parallel_for(size, kGridsAtOnce, threads(), [&](std::size_t begin, std::size_t end) {
    GridSet normalised(1, cells_per_grid, dim);
    for (std::size_t i = begin; i < end; ++i) {
      if (!cells_stay) return;  // all are done again, into the copy
      normalised.set(0, cells_of(i), global_of(i));
      const GridView grid = normalised[0];
      if (std::memcmp(grid.cells, cells_of(i).data(), of_grid * sizeof(float)) != 0) {
        cells_stay = false;
      }
      std::memcpy(&made[i * dim], grid.global, dim * sizeof(float));
      if (given && std::memcmp(grid.global, global_of(i).data(), dim * sizeof(float)) != 0) {
        globals_stay = false;
      }
    }
  });
  if (!cells_stay) {
    block.copy = GridSet(size, cells_per_grid, dim);
    parallel_for(size, kGridsAtOnce, threads(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) block.copy.set(i, cells_of(i), global_of(i));
    });
    block.view = block.copy.view();
    return block;
  }
  if (!globals_stay) block.own_globals = std::move(made);
  block.view = {cell_data, CellType::float32,
                size,      cells_per_grid,
                dim,       globals_stay ? global_data : block.own_globals.data(),
                nullptr};
  return block;
}

std::shared_ptr<Grids> Grids::of_array(const py::object& cells, const py::object& globals) {
  auto grids = std::make_shared<Grids>();
  grids->blocks_.push_back(block_of(cells, globals, 0, "cells"));
  grids->take_all(grids->blocks_.front().view);
  return grids;
}

void Grids::take_all(const GridSetView& view) {
  groups_ = {view};
  for (std::size_t i = 0; i < view.size; ++i) places_.push_back({0, i});
}

std::shared_ptr<Grids> Grids::of_one(const py::object& cells, const py::object& global) {
  const FloatArray values = floats_of(cells, "cells");
  if (values.ndim() != 2) {
    throw Error("cells is " + shape_text(values) + ": [cells, dimensions] is wanted");
  }
  const auto dim = static_cast<std::size_t>(values.shape(1));
  GridSet set(1, static_cast<std::size_t>(values.shape(0)), dim);
  FloatArray vector;
  if (!global.is_none()) vector = floats_of(global, "globals");
  if (!global.is_none() && static_cast<std::size_t>(vector.size()) != dim) {
    throw Error("globals is " + shape_text(vector) + " where [" + std::to_string(dim) +
                "] is wanted, to go with cells");
  }
  // A copy of one small grid costs less than to find out whether it is needed.
  set.set(0, {values.data(), static_cast<std::size_t>(values.size())},
          {vector.data(), global.is_none() ? 0 : dim});
  return of_set(std::move(set));
}

std::shared_ptr<Grids> Grids::of_set(GridSet set) {
  auto grids = std::make_shared<Grids>();
  grids->blocks_.emplace_back();
  Block& block = grids->blocks_.front();
  block.copy = std::move(set);
  block.view = block.copy.view();
  grids->take_all(block.view);
  return grids;
}

std::shared_ptr<Grids> Grids::of_list(const py::sequence& cells, const py::object& globals) {
  auto grids = std::make_shared<Grids>();
  const std::size_t count = cells.size();
  if (count == 0) throw Error("cells is empty: at least one image is wanted");
  py::sequence each = py::list();
  if (!globals.is_none()) {
    each = py::reinterpret_borrow<py::sequence>(globals);
    if (each.size() != count) {
      throw Error("there are " + std::to_string(count) + " grids and " +
                  std::to_string(each.size()) + " globals: one each is wanted");
    }
  }
  grids->blocks_.reserve(count);  // views point into blocks
  for (std::size_t i = 0; i < count; ++i) {
    const py::object global = globals.is_none() ? py::none() : py::object(each[i]);
    grids->blocks_.push_back(block_of(cells[i], global, 1, "cells[" + std::to_string(i) + "]"));
  }
  grids->group();
  return grids;
}

void Grids::group() {
  std::map<std::size_t, std::size_t> group_of;  // by cells per grid
  const std::size_t dim = blocks_.front().view.dim;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const GridView grid = blocks_[i].view[0];
    if (grid.dim != dim) {
      throw Error("cells[0] has " + std::to_string(dim) + "-d cells, cells[" + std::to_string(i) +
                  "] " + std::to_string(grid.dim) + "-d ones: embed all with one model");
    }
    const auto [found, fresh] = group_of.emplace(grid.count, apart_.size());
    if (fresh) {
      apart_.emplace_back();
    }
    places_.push_back({found->second, apart_[found->second].size()});
    apart_[found->second].push_back(grid);
  }
  for (const std::vector<GridView>& views : apart_) groups_.push_back(set_of(views));
}

GridSetView Grids::one_shape(const char* what) const {
  if (groups_.size() != 1) {
    throw Error(std::string(what) + " wants grids of one shape, and these have " +
                std::to_string(groups_.size()) + ": pool them to one number of cells");
  }
  return groups_.front();
}

const std::vector<float>& Grids::copied_globals() {
  if (globals_.empty()) {
    globals_.reserve(size() * dim());
    for (std::size_t i = 0; i < size(); ++i) {
      const float* global = (*this)[i].global;
      globals_.insert(globals_.end(), global, global + dim());
    }
  }
  return globals_;
}

bool Grids::cells_in_place() const {
  for (const Block& block : blocks_) {
    if (block.copy.size() > 0) return false;
  }
  return true;
}

bool Grids::globals_in_place() const {
  for (const Block& block : blocks_) {
    if (block.copy.size() > 0 || !block.own_globals.empty()) return false;
  }
  return true;
}

void bind_grids(py::module_& module) {
  py::class_<Grids, std::shared_ptr<Grids>>(module, "Grids")
      .def("__len__", &Grids::size)
      .def_property_readonly("dim", &Grids::dim)
      .def_property_readonly("cells_in_place", &Grids::cells_in_place)
      .def_property_readonly("globals_in_place", &Grids::globals_in_place)
      .def("cells_address",
           [](const Grids& grids, std::size_t i) {
             if (i >= grids.size()) throw py::index_error();
             return reinterpret_cast<std::uintptr_t>(grids[i].cells);
           })
      .def("global_address", [](const Grids& grids, std::size_t i) {
        if (i >= grids.size()) throw py::index_error();
        return reinterpret_cast<std::uintptr_t>(grids[i].global);
      });
  module.def(
      "one_grid",
      [](const py::object& cells, const py::object& global) {
        return Grids::of_one(cells, global);
      },
      py::arg("cells"), py::arg("global_vector"));
  module.def("grids_of_array", &Grids::of_array, py::arg("cells"), py::arg("globals"));
  module.def("grids_of_list", &Grids::of_list, py::arg("cells"), py::arg("globals"));
}

}  // namespace diml::python
