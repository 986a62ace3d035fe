#include <algorithm>

#include "base/threads.h"
#include "calls.h"
#include "diml/generated.h"
#if DIML_HAS_DRAWING
#include "critters/critters.h"
#endif

namespace diml::python {
namespace {

// (cells [size, grid * grid, dim], globals [size, dim], labels [size]) of `diml generate`, float32.
py::tuple generated(std::size_t size, std::size_t classes, std::size_t grid, std::size_t dim,
                    std::uint64_t seed, double common) {
  GeneratedGrids made;
  {
    const py::gil_scoped_release without_gil;
    made = generate_grids({size, classes, grid, dim, seed, CellType::float32, common});
  }
  const GridSetView view = made.grids.view();
  const auto rows = static_cast<py::ssize_t>(size);
  const auto columns = static_cast<py::ssize_t>(dim);
  const py::array_t<float> cells({rows, static_cast<py::ssize_t>(grid * grid), columns},
                                 static_cast<const float*>(view.cells));
  const py::array_t<float> globals({rows, columns}, view.globals);
  return py::make_tuple(cells, globals, array_of(made.labels));
}

#if DIML_HAS_DRAWING
// (pictures uint8 [classes * images_per_class, size, size, 3], labels int64) of `diml critters`.
py::tuple critters(std::size_t classes, std::size_t images_per_class, std::size_t size,
                   std::uint64_t seed) {
  if (classes < 1 || images_per_class < 1 || size < 16 || size > 4096) {
    throw Error("critters need at least one class, one image of each and 16 to 4096 pixels");
  }
  const CrittersParams params{classes, images_per_class, size, seed};
  const std::size_t count = classes * images_per_class;
  const auto side = static_cast<py::ssize_t>(size);
  py::array_t<std::uint8_t> pictures({static_cast<py::ssize_t>(count), side, side, py::ssize_t{3}});
  std::uint8_t* const pixels = pictures.mutable_data();
  std::vector<std::int64_t> labels(count);
  {
    const py::gil_scoped_release without_gil;
    parallel_for(
        count, 1, threads(),
        [&](std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end; ++i) {
            labels[i] = static_cast<std::int64_t>(i / images_per_class);
            const Critter critter =
                draw_critter(params, i / images_per_class, i % images_per_class);
            std::copy(critter.image.pixels.begin(), critter.image.pixels.end(),
                      pixels + i * size * size * 3);
          }
        },
        ended_by_ctrl_c());
  }
  return py::make_tuple(pictures, array_of(labels));
}
#endif

}  // namespace

void bind_generated(py::module_& module) {
#if DIML_HAS_DRAWING
  module.def("critters", &critters, py::arg("classes"), py::arg("images_per_class"),
             py::arg("size"), py::arg("seed"));
#endif
  module.def("generated", &generated, py::arg("size"), py::arg("classes"), py::arg("grid") = 4,
             py::arg("dim") = 128, py::arg("seed") = 0, py::arg("common") = 0.0);
}

}  // namespace diml::python
