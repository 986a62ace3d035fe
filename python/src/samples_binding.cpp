#include "calls.h"
#if DIML_HAS_DRAWING
#include "critters/critters.h"
#endif
#if DIML_HAS_NETWORKS
#include "models/model.h"
#endif

// Things to try the package on.
namespace diml::python {
namespace {

#if DIML_HAS_DRAWING
void write_pictures(const std::string& folder, std::size_t classes, std::size_t images_per_class,
                    std::size_t size, std::uint64_t seed) {
  const py::gil_scoped_release without_gil;
  write_critters(folder, {classes, images_per_class, size, seed},
                 Progress([](std::size_t, std::size_t) { check_signals(); }));
}
#endif

#if DIML_HAS_NETWORKS
void write_model(const std::string& path, const std::string& architecture, std::size_t dim,
                 std::uint64_t seed) {
  const py::gil_scoped_release without_gil;
  save_model(path, make_model(architecture, StridePlace::in_3x3, dim, seed));
}
#endif

}  // namespace

void bind_samples(py::module_& module) {
  static_cast<void>(module);
#if DIML_HAS_DRAWING
  module.def("write_critters", &write_pictures, py::arg("folder"), py::arg("classes"),
             py::arg("images_per_class"), py::arg("size"), py::arg("seed"));
#endif
#if DIML_HAS_NETWORKS
  module.def("write_model", &write_model, py::arg("path"), py::arg("architecture"), py::arg("dim"),
             py::arg("seed"));
#endif
}

}  // namespace diml::python
