#include "grids.h"

namespace diml::python {

void bind_grids(py::module_& module) {
  py::class_<Grids, std::shared_ptr<Grids>>(module, "Grids")
      .def("__len__", &Grids::size)
      .def_property_readonly("dim", &Grids::dim)
      .def_property_readonly("copied_cells", &Grids::copied_cells)
      .def_property_readonly("copied_globals", &Grids::copied_globals)
      .def("cells_address",
           [](const Grids& grids, std::size_t i) {
             if (i >= grids.size()) throw py::index_error();
             return reinterpret_cast<std::uintptr_t>(grids[i].cells);
           })
      .def("global_address",
           [](const Grids& grids, std::size_t i) {
             if (i >= grids.size()) throw py::index_error();
             return reinterpret_cast<std::uintptr_t>(grids[i].global);
           })
      .def(py::pickle([](const Grids& grids) { return grids.state(); },
                      [](const py::tuple& state) { return Grids::of_state(state); }));
  module.def(
      "one_grid",
      [](const py::object& cells, const py::object& global, const char* name) {
        return Grids::of_one(cells, global, name);
      },
      py::arg("cells"), py::arg("global_vector"), py::arg("name"));
  const auto lengths = [](bool any) { return any ? Lengths::any : Lengths::of_a_grid; };
  module.def(
      "grids_of_array",
      [lengths](const py::object& cells, const py::object& globals, bool any_length) {
        return Grids::of_array(cells, globals, lengths(any_length));
      },
      py::arg("cells"), py::arg("globals"), py::arg("any_length"));
  module.def(
      "grids_of_list",
      [lengths](const py::sequence& cells, const py::object& globals, bool any_length) {
        return Grids::of_list(cells, globals, lengths(any_length));
      },
      py::arg("cells"), py::arg("globals"), py::arg("any_length"));
}

}  // namespace diml::python
