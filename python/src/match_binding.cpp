#include <pybind11/stl.h>

#include "diml/explain.h"
#include "diml/figure.h"
#include "diml/match.h"
#include "images.h"
#include "pair_match.h"

namespace diml::python {
namespace {

PairMatch match_pair(std::shared_ptr<Grids> source, std::shared_ptr<Grids> target,
                     const std::string& backend, const std::string& marginals, double lambda,
                     double tolerance, int max_iterations) {
  MatchParams params = match_params(marginals, lambda, tolerance, max_iterations);
  params.transport.backend = backend_from(backend);
  return matched(std::move(source), std::move(target), params);
}

// Whether the solver could go on for more than a fraction of a second.
bool may_take_long(GridView source, GridView target, const MatchParams& params) {
  const bool in_float =
      params.transport.backend == Backend::cpu ||
      (params.transport.backend == Backend::fastest && fastest_of_one_pair() == Backend::cpu);
  const double steps = static_cast<double>(source.count) * static_cast<double>(target.count) *
                       params.transport.max_iterations;
  return steps > (in_float ? 1e9 : 1e7);
}

StructuralMatch match_or_ctrl_c(const Grids& source, const Grids& target,
                                const MatchParams& params) {
  if (!may_take_long(source[0], target[0], params)) return match(source[0], target[0], params);
  return wait_for(
      [from = source.copy(), to = target.copy(), params] { return match(from[0], to[0], params); });
}

#if DIML_HAS_IMAGES
Pixels read_pixels(const std::string& path) {
  Image image;
  {
    const py::gil_scoped_release without_gil;
    image = read_image(path, {.orientation = Orientation::exif});
  }
  return pixels_of(image);
}
#endif

using Shape = std::pair<std::size_t, std::size_t>;

// What figure_of() draws, which owns it.
struct Drawing {
  GridSet source_grid;
  GridSet target_grid;
  MatchParams how;
  std::string ending;
  Shape source_shape;
  Shape target_shape;
  Image source;
  Image target;
  FigureParams params;
};

std::string figure_of(const Drawing& drawing) {
  const auto& [source_grid, target_grid, how, ending, source_shape, target_shape, source, target,
               params] = drawing;
  const Explanation why =
      explain(source_grid[0], target_grid[0], how, {source_shape.first, source_shape.second},
              {target_shape.first, target_shape.second});
#if DIML_HAS_JSON
  if (ending == "json") return to_json(why) + "\n";
#if DIML_HAS_IMAGES
  if (ending == "html") return explain_page(why, source, target, params);
#endif
#endif
#if DIML_HAS_DRAWING
  if (ending == "svg" || ending == "png" || ending == "pdf") {
    const PictureFormat format = ending == "png"   ? PictureFormat::png
                                 : ending == "svg" ? PictureFormat::svg
                                                   : PictureFormat::pdf;
    return draw_figure(why, source, target, format, params);
  }
#endif
  static_cast<void>(source);
  static_cast<void>(target);
  static_cast<void>(params);
  throw Error(ErrorKind::unsupported, "this build writes no ." + ending +
                                          ": `diml doctor` names the packages that are missing");
}

// The bytes of a figure or page; ending: "html", "svg", "png", "pdf" or "json".
py::bytes figure(const PairMatch& match, const std::string& ending, Shape source_shape,
                 Shape target_shape, const Pixels& source, const Pixels& target,
                 const std::pair<std::string, std::string>& names) {
  FigureParams params;
  params.source_name = names.first;
  params.target_name = names.second;
  params.style = FigureStyle::regions;  // as `diml explain` draws
  Drawing drawing{
      match.source->copy(), match.target->copy(), match.params,     ending, source_shape,
      target_shape,         image_of(source),     image_of(target), params};
  std::string bytes;
  {
    const py::gil_scoped_release without_gil;
    bytes = wait_for([own = std::move(drawing)] { return figure_of(own); });
  }
  return bytes;
}

}  // namespace

PairMatch matched(std::shared_ptr<Grids> source, std::shared_ptr<Grids> target,
                  const MatchParams& params) {
  StructuralMatch result;
  {
    const py::gil_scoped_release without_gil;
    result = match_or_ctrl_c(*source, *target, params);
  }
  return {std::move(source), std::move(target), params, std::move(result)};
}

py::array_t<double> PairMatch::matrix(const std::vector<double>& values) const {
  return array_of(values, result.plan.rows, result.plan.cols);
}

double PairMatch::gap() const {
  MatchParams certified = params;
  certified.certificate = Certificate::duality_gap;
  const py::gil_scoped_release without_gil;
  return match_or_ctrl_c(*source, *target, certified).bracket->gap();
}

void bind_match(py::module_& module) {
  py::class_<PairMatch>(module, "PairMatch")
      .def_property_readonly(
          "shape",
          [](const PairMatch& m) { return std::make_pair(m.result.plan.rows, m.result.plan.cols); })
      .def_property_readonly("score", [](const PairMatch& m) { return m.result.score; })
      .def_property_readonly("distance", [](const PairMatch& m) { return m.result.distance; })
      .def_property_readonly("plan",
                             [](const PairMatch& m) { return m.matrix(m.result.plan.mass); })
      .def_property_readonly("similarity",
                             [](const PairMatch& m) { return m.matrix(m.result.similarity); })
      .def_property_readonly("marginals",
                             [](const PairMatch& m) {
                               return py::make_tuple(array_of(m.result.marginals.source),
                                                     array_of(m.result.marginals.target));
                             })
      .def_property_readonly("gap", &PairMatch::gap)
      .def_property_readonly("iterations",
                             [](const PairMatch& m) { return m.result.plan.iterations; })
      .def_property_readonly("converged",
                             [](const PairMatch& m) { return m.result.plan.converged; })
      // The grids are kept, and matched again: that takes less room, and hardly any time.
      .def(py::pickle(
          [](const PairMatch& m) { return py::make_tuple(m.source, m.target, m.params); },
          [](const py::tuple& state) {
            return matched(state[0].cast<std::shared_ptr<Grids>>(),
                           state[1].cast<std::shared_ptr<Grids>>(), state[2].cast<MatchParams>());
          }));
  module.def("match_pair", &match_pair);
  module.def("figure", &figure);
#if DIML_HAS_IMAGES
  module.def("read_pixels", &read_pixels);
#endif
}

}  // namespace diml::python
