#include <cstring>

#include "grids.h"

// Grids and settings to bytes and back, for pickle and copy: what holds them (Retriever,
// StructuralKNeighbors, Match) is pickled as any object of Python.
namespace diml::python {
namespace {

// Of every group, with globals in float32.
py::tuple bytes_of(const GridSetView& group) {
  const std::size_t of_cells = group.cells_per_grid * group.dim * size_of(group.type);
  std::string cells;
  std::string globals;
  cells.reserve(group.size * of_cells);
  globals.reserve(group.size * group.dim * sizeof(float));
  for (std::size_t i = 0; i < group.size; ++i) {
    const GridView grid = group[i];
    cells.append(static_cast<const char*>(grid.cells), of_cells);
    globals.append(reinterpret_cast<const char*>(grid.global), group.dim * sizeof(float));
  }
  return py::make_tuple(name_of(group.type), group.size, group.cells_per_grid, group.dim,
                        py::bytes(cells), py::bytes(globals));
}

std::vector<float> floats_of(std::string_view bytes) {
  std::vector<float> floats((bytes.size() + sizeof(float) - 1) / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

[[noreturn]] void refuse() {
  throw Error(ErrorKind::damaged, "what was pickled is no grid of this version: make it again");
}

}  // namespace

py::tuple state_of(const MatchParams& params) {
  return py::make_tuple(std::string(name_of(params.marginals)), params.transport.lambda,
                        params.transport.tolerance, params.transport.max_iterations,
                        std::string(name_of(params.transport.backend)));
}

MatchParams params_of(const py::tuple& state) {
  if (state.size() != 5) refuse();
  MatchParams params = match_params(state[0].cast<std::string>(), state[1].cast<double>(),
                                    state[2].cast<double>(), state[3].cast<int>());
  params.transport.backend = backend_from(state[4].cast<std::string>());
  return params;
}

Grids::Block::Block(const GridSetView& shape, const py::bytes& given_cells,
                    const py::bytes& given_globals)
    : size(shape.size),
      cells_per_grid(shape.cells_per_grid),
      dim(shape.dim),
      own_cells(floats_of(std::string_view(given_cells))),
      own_globals(floats_of(std::string_view(given_globals))),
      view(shape) {
  const std::size_t numbers = size * cells_per_grid * dim;
  if (size == 0 || std::string_view(given_cells).size() != numbers * size_of(view.type) ||
      own_globals.size() != size * dim) {
    refuse();
  }
  view.cells = own_cells.data();
  view.globals = own_globals.data();
}

py::tuple Grids::state() const {
  py::list groups;
  for (const GridSetView& group : groups_) groups.append(bytes_of(group));
  std::vector<std::int64_t> places;
  for (const Place& place : places_) {
    places.push_back(static_cast<std::int64_t>(place.group));
    places.push_back(static_cast<std::int64_t>(place.index));
  }
  return py::make_tuple(groups, array_of(places, places_.size(), 2));
}

std::shared_ptr<Grids> Grids::of_state(const py::tuple& state) {
  if (state.size() != 2) refuse();
  auto grids = std::make_shared<Grids>();
  for (const py::handle& one : py::list(state[0])) {
    const auto group = py::reinterpret_borrow<py::tuple>(one);
    if (group.size() != 6) refuse();
    GridSetView shape;
    shape.type = cell_type_from(group[0].cast<std::string>());
    shape.size = group[1].cast<std::size_t>();
    shape.cells_per_grid = group[2].cast<std::size_t>();
    shape.dim = group[3].cast<std::size_t>();
    grids->groups_.push_back(
        grids->blocks_.emplace_back(shape, py::bytes(group[4]), py::bytes(group[5])).view);
  }
  const auto places = state[1].cast<py::array_t<std::int64_t, py::array::c_style>>();
  for (py::ssize_t i = 0; i < places.size(); i += 2) {
    const Place place{static_cast<std::size_t>(places.data()[i]),
                      static_cast<std::size_t>(places.data()[i + 1])};
    if (place.group >= grids->groups_.size() || place.index >= grids->groups_[place.group].size) {
      refuse();
    }
    grids->places_.push_back(place);
  }
  if (grids->places_.empty()) refuse();
  return grids;
}

}  // namespace diml::python
