#include "calls.h"
#if DIML_HAS_DRAWING
#include "critters/critters.h"
#endif

// Pictures to try the package on.
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

}  // namespace

void bind_samples(py::module_& module) {
  static_cast<void>(module);
#if DIML_HAS_DRAWING
  module.def("write_critters", &write_pictures, py::arg("folder"), py::arg("classes"),
             py::arg("images_per_class"), py::arg("size"), py::arg("seed"));
#endif
}

}  // namespace diml::python
