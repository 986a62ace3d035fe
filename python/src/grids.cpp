#include "grids.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <optional>

#include "base/threads.h"
#include "match/unit_vectors.h"

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
  if (py::isinstance<FloatArray>(object)) return py::reinterpret_borrow<FloatArray>(object);
  const py::array array = py::array::ensure(object);
  if (!array) {
    PyErr_Clear();
    throw py::type_error(name + " must be a NumPy array of numbers");
  }
  if (array.dtype().kind() == 'U') {
    throw py::type_error(name + " is text: numbers are wanted; an Embedder makes cells of photos");
  }
  if (std::string_view("biuf").find(array.dtype().kind()) == std::string_view::npos) {
    throw py::type_error(name + " has the type " + py::str(array.dtype()).cast<std::string>() +
                         ": numbers are wanted, convert it with .astype(numpy.float32)");
  }
  FloatArray floats = FloatArray::ensure(array);
  if (!floats) throw py::error_already_set();
  return floats;
}

// One grid after the other, by the library's rule.
class Normaliser {
 public:
  Normaliser(std::size_t cells_per_grid, std::size_t dim)
      : cells_(cells_per_grid),
        dim_(dim),
        is_long_(cells_per_grid > kMostCells),
        // The rule is one for each cell: a long grid is as many grids of one.
        set_(is_long_ ? cells_ : 1, is_long_ ? 1 : cells_, dim),
        global_(1, 1, is_long_ ? dim : 1) {}

  // global: empty for the mean of the cells.
  void set(std::span<const float> cells, std::span<const float> global) {
    if (!is_long_) return set_.set(0, cells, global);
    for (std::size_t i = 0; i < cells_; ++i) {
      const std::span<const float> cell = cells.subspan(i * dim_, dim_);
      set_.set(i, cell, cell);
    }
    std::vector<float> mean;
    if (global.empty()) {
      mean = mean_of_cells(cells, dim_);
      global = mean;
    }
    global_.set(0, global, global);
  }
  const float* cells() const { return static_cast<const float*>(set_.view().cells); }
  const float* global() const { return (is_long_ ? global_ : set_).view().globals; }

 private:
  std::size_t cells_;
  std::size_t dim_;
  bool is_long_;
  GridSet set_;
  GridSet global_;
};

bool are_surely_unit(std::span<const float> vectors, std::size_t dim) {
  for (std::size_t first = 0; first < vectors.size(); first += dim) {
    if (!is_surely_unit(vectors.subspan(first, dim))) return false;
  }
  return true;
}

// Of a grid of any length, the dimensions alone are limited.
void check_shape(std::size_t cells, std::size_t dim, Lengths lengths, const std::string& name) {
  try {
    check_grid_shape(lengths == Lengths::any ? std::min(cells, kMostCells) : cells, dim);
  } catch (const Error& error) {
    const bool turned = cells > kMostCells && dim > 0 && dim <= kMostCells;
    throw with_context(error, name + ": ",
                       turned ? "; if these are the dimensions, swap the last two axes" : "");
  }
}

bool differs(const float* made, std::span<const float> given) {
  return std::memcmp(made, given.data(), given.size_bytes()) != 0;
}

}  // namespace

Grids::Block::Block(const py::object& given_cells, const py::object& given_globals,
                    std::size_t count, const std::string& argument, Lengths lengths)
    : name(argument) {
  const FloatArray array = floats_of(given_cells, name);
  const bool one = count == 1;
  if (array.ndim() != (one ? 2 : 3)) {
    throw Error(name + " is " + shape_text(array) +
                (one ? ": [cells, dimensions] is wanted"
                 : array.ndim() == 2
                     ? ": [images, cells, dimensions] is wanted; one image is x[None]"
                     : ": [images, cells, dimensions] is wanted"));
  }
  const py::ssize_t lead = one ? 0 : 1;
  size = one ? std::size_t{1} : static_cast<std::size_t>(array.shape(0));
  cells_per_grid = static_cast<std::size_t>(array.shape(lead));
  dim = static_cast<std::size_t>(array.shape(lead + 1));
  if (size == 0) throw Error(name + " is empty: at least one image is wanted");
  check_shape(cells_per_grid, dim, lengths, name);
  kept_cells = array;
  cells = array.data();
  if (given_globals.is_none()) return;
  const FloatArray vectors = floats_of(given_globals, "globals");
  const py::ssize_t last = vectors.ndim() - 1;
  if (last < 0 || static_cast<std::size_t>(vectors.size()) != size * dim ||
      static_cast<std::size_t>(vectors.shape(last)) != dim) {
    throw Error("globals is " + shape_text(vectors) + " where [" + std::to_string(size) + ", " +
                std::to_string(dim) + "] is wanted, to go with " + name);
  }
  kept_globals = vectors;
  globals = vectors.data();
}

Grids::Block::Block(GridSet own) : set(std::move(own)) { view = set.view(); }

bool Grids::Block::stay_where_they_are(int threads, const Progress& progress) const {
  std::atomic<bool> stay{true};
  parallel_for(
      size, kGridsAtOnce, threads,
      [&](std::size_t begin, std::size_t end) {
        if (!stay) return;
        const std::size_t of_grid = cells_per_grid * dim;
        const std::size_t count = end - begin;
        if ((globals && !are_surely_unit({globals + begin * dim, count * dim}, dim)) ||
            !are_surely_unit({cells + begin * of_grid, count * of_grid}, dim)) {
          stay = false;
        }
      },
      progress);
  return stay;
}

std::string Grids::Block::place_of(std::size_t i) const {
  return (size == 1 ? name : name + "[" + std::to_string(i) + "]") + ": ";
}

void Grids::Block::take_means(int threads, const Progress& progress) {
  own_globals.resize(size * dim);
  parallel_for(
      size, kGridsAtOnce, threads,
      [&](std::size_t begin, std::size_t end) {
        GridSet unit(1, 1, dim);
        for (std::size_t i = begin; i < end; ++i) {
          const std::size_t of_grid = cells_per_grid * dim;
          const std::vector<float> mean = mean_of_cells({cells + i * of_grid, of_grid}, dim);
          unit.set(0, {cells + i * of_grid, dim},
                   mean);  // a cell is needed, and one is unit already
          std::copy_n(unit.view().globals, dim, &own_globals[i * dim]);
        }
      },
      progress);
}

void Grids::Block::normalise(int threads, const Progress& progress) {
  const std::size_t of_grid = cells_per_grid * dim;
  const auto cells_of = [&](std::size_t i) { return std::span(cells + i * of_grid, of_grid); };
  const auto global_of = [&](std::size_t i) {
    return globals ? std::span(globals + i * dim, dim) : std::span<const float>();
  };
  if (stay_where_they_are(threads, progress)) {
    if (!globals) take_means(threads, progress);
    const float* own = globals ? globals : own_globals.data();
    view = {cells, CellType::float32, size, cells_per_grid, dim, own, nullptr};
    return;
  }
  const auto set_with_place = [&](Normaliser& normalised, std::size_t i) {
    try {
      normalised.set(cells_of(i), global_of(i));
    } catch (const Error& error) {
      throw with_context(error, place_of(i));
    }
  };
  // The library says which grids it would leave unchanged.
  std::vector<std::uint8_t> changes(size);
  std::atomic<std::size_t> changed{0};
  std::atomic<bool> globals_stay{globals != nullptr};
  const std::size_t most = size / 8;  // that are worth views apart
  own_globals.resize(size * dim);
  parallel_for(
      size, kGridsAtOnce, threads,
      [&](std::size_t begin, std::size_t end) {
        Normaliser normalised(cells_per_grid, dim);
        for (std::size_t i = begin; i < end; ++i) {
          if (changed > most) return;  // all are done again, into the copy
          set_with_place(normalised, i);
          changes[i] = differs(normalised.cells(), cells_of(i)) ? 1 : 0;
          changed += changes[i];
          std::copy_n(normalised.global(), dim, &own_globals[i * dim]);
          if (globals && differs(normalised.global(), global_of(i))) globals_stay = false;
        }
      },
      progress);
  const bool all = changed > most;
  if (all) {
    changes.assign(size, 1);
    globals_stay = false;
  }
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < size; ++i) {
    if (changes[i] != 0) places.push_back(i);
  }
  own_cells.resize(places.size() * of_grid);
  parallel_for(
      places.size(), kGridsAtOnce, threads,
      [&](std::size_t begin, std::size_t end) {
        Normaliser normalised(cells_per_grid, dim);
        for (std::size_t k = begin; k < end; ++k) {
          set_with_place(normalised, places[k]);
          std::copy_n(normalised.cells(), of_grid, &own_cells[k * of_grid]);
          std::copy_n(normalised.global(), dim, &own_globals[places[k] * dim]);
        }
      },
      progress);
  if (globals_stay) own_globals = {};
  const float* own = globals_stay ? globals : own_globals.data();
  view = {
      all ? own_cells.data() : cells, CellType::float32, size, cells_per_grid, dim, own, nullptr};
  if (!all && !places.empty()) {
    for (std::size_t i = 0; i < size; ++i) apart.push_back(view[i]);
    for (std::size_t k = 0; k < places.size(); ++k) {
      apart[places[k]].cells = &own_cells[k * of_grid];
    }
    view.apart = apart.data();
  }
}

void Grids::Block::drop_unused() {
  if (view.cells != cells) kept_cells = {};
  if (!own_globals.empty()) kept_globals = {};
}

std::size_t Grids::Block::copied() const {
  return set.size() + own_cells.size() / std::max<std::size_t>(1, cells_per_grid * dim);
}

std::shared_ptr<Grids> Grids::of_array(const py::object& cells, const py::object& globals,
                                       Lengths lengths) {
  auto grids = std::make_shared<Grids>();
  Block& block = grids->blocks_.emplace_back(cells, globals, 0, "cells", lengths);
  {
    const py::gil_scoped_release without_gil;
    block.normalise(threads(), ended_by_ctrl_c());
  }
  block.drop_unused();
  grids->take_all(block.view);
  return grids;
}

void Grids::take_all(const GridSetView& view) {
  groups_ = {view};
  for (std::size_t i = 0; i < view.size; ++i) places_.push_back({0, i});
}

std::shared_ptr<Grids> Grids::of_one(const py::object& cells, const py::object& global,
                                     const char* name) {
  const FloatArray values = floats_of(cells, name);
  if (values.ndim() != 2) {
    throw Error(name + (" is " + shape_text(values)) + ": [cells, dimensions] is wanted");
  }
  const auto cells_of_grid = static_cast<std::size_t>(values.shape(0));
  const auto dim = static_cast<std::size_t>(values.shape(1));
  check_shape(cells_of_grid, dim, Lengths::of_a_grid, name);
  std::optional<FloatArray> vector;
  if (!global.is_none()) vector = floats_of(global, "globals");
  if (vector && static_cast<std::size_t>(vector->size()) != dim) {
    throw Error("globals is " + shape_text(*vector) + " where [" + std::to_string(dim) +
                "] is wanted, to go with " + name);
  }
  try {
    GridSet set(1, cells_of_grid, dim);
    // A copy of one small grid costs less than to find out whether it is needed.
    set.set(0, {values.data(), static_cast<std::size_t>(values.size())},
            vector ? std::span(vector->data(), dim) : std::span<const float>());
    return of_set(std::move(set));
  } catch (const Error& error) {
    throw with_context(error, std::string(name) + ": ");
  }
}

std::shared_ptr<Grids> Grids::of_set(GridSet set) {
  auto grids = std::make_shared<Grids>();
  grids->take_all(grids->blocks_.emplace_back(std::move(set)).view);
  return grids;
}

std::shared_ptr<Grids> Grids::of_list(const py::sequence& cells, const py::object& globals,
                                      Lengths lengths) {
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
  std::vector<Block>& blocks = grids->blocks_;
  blocks.reserve(count);  // views point into blocks
  for (std::size_t i = 0; i < count; ++i) {
    const py::object global = globals.is_none() ? py::none() : py::object(each[i]);
    blocks.emplace_back(cells[i], global, 1, "cells[" + std::to_string(i) + "]", lengths);
  }
  {
    const py::gil_scoped_release without_gil;
    parallel_for(
        count, kGridsAtOnce, threads(),
        [&](std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end; ++i) blocks[i].normalise(1, {});
        },
        ended_by_ctrl_c());
  }
  for (Block& block : blocks) block.drop_unused();
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

VectorsView Grids::globals() const {
  if (groups_.size() == 1 && !groups_.front().apart) {
    return {groups_.front().globals, size(), dim()};
  }
  std::call_once(globals_copied_, [this] {
    globals_.reserve(size() * dim());
    for (std::size_t i = 0; i < size(); ++i) {
      const float* global = (*this)[i].global;
      globals_.insert(globals_.end(), global, global + dim());
    }
  });
  return {globals_.data(), size(), dim()};
}

std::size_t Grids::copied_cells() const {
  std::size_t copied = 0;
  for (const Block& block : blocks_) copied += block.copied();
  return copied;
}

std::size_t Grids::copied_globals() const {
  std::size_t copied = 0;
  for (const Block& block : blocks_) {
    copied += block.set.size() + (block.own_globals.empty() ? 0 : block.size);
  }
  return copied;
}

}  // namespace diml::python
