#include <pybind11/stl.h>

#include "calls.h"
#include "engine/fetch_model.h"
#include "models/model.h"

// Files with a network's weights: made, fetched, and brought from other programs.
namespace diml::python {
namespace {

void write_model(const std::string& path, const std::string& architecture, std::size_t dim,
                 std::uint64_t seed) {
  const py::gil_scoped_release without_gil;
  save_model(path, make_model(architecture, StridePlace::in_3x3, dim, seed));
}

// Runs npm, which Ctrl-C ends too.
std::string fetch(const std::string& name) {
  const py::gil_scoped_release without_gil;
  return wait_for([name] { return fetch_model(name); });
}

void import_weights(const std::string& from, const std::string& out, const std::string& stride,
                    const std::map<std::string, std::string>& preprocessing) {
  ImportParams params;
  if (!stride.empty()) params.stride = stride_place_from(stride);
  params.preprocessing = preprocessing;
  const py::gil_scoped_release without_gil;
  save_model(out, import_model(from, params));
}

}  // namespace

void bind_weights(py::module_& module) {
  module.def("write_model", &write_model, py::arg("path"), py::arg("architecture"), py::arg("dim"),
             py::arg("seed"));
  module.def("fetch_model", &fetch, py::arg("name"));
  module.def("import_model", &import_weights, py::arg("weights"), py::arg("path"),
             py::arg("stride"), py::arg("preprocessing"));
}

}  // namespace diml::python
