#include "evaluate_binding.h"

#include <pybind11/stl.h>

#include "diml/evaluate.h"
#include "grids.h"

namespace diml::python {
namespace {

constexpr double kPercent = 100.0;  // as the program's JSON has them

py::dict evaluate_grids(const std::shared_ptr<Grids>& grids,
                        const std::vector<std::int64_t>& labels,
                        const std::vector<std::size_t>& rerank, std::pair<float, float> weights,
                        const std::string& backend, const MatchParams& match,
                        const py::object& progress) {
  EvaluateParams params;
  params.rerank = rerank;
  params.weights = {weights.first, weights.second};
  params.match = match;
  params.backend = backend_from(backend);
  params.threads = threads();
  const Progress report = progress_to(progress);
  const GridSetView set = grids->one_shape("evaluate");
  Evaluation evaluation;
  {
    const py::gil_scoped_release without_gil;
    evaluation = evaluate(set, labels, params, report);
  }
  py::list results;
  for (const RerankResult& result : evaluation.results) {
    py::dict row = dict_of(result.metrics, evaluation.recall_ks);
    row["rerank"] = result.rerank;
    py::dict classes;
    for (const auto& [label, metrics] : result.per_class) {
      classes[py::int_(label)] = dict_of(metrics, evaluation.recall_ks);
    }
    results.append(py::make_tuple(row, classes));
  }
  py::dict found;
  found["results"] = results;
  found["queries"] = evaluation.queries;
  found["left_out"] = evaluation.left_out;
  found["unlabelled"] = evaluation.unlabelled;
  found["gallery"] = evaluation.gallery;
  return found;
}

}  // namespace

py::dict dict_of(const RetrievalMetrics& metrics, const std::vector<std::size_t>& recall_ks) {
  py::dict row;
  row["queries"] = metrics.queries;
  row["p_at_1"] = kPercent * metrics.p_at_1;
  row["r_precision"] = kPercent * metrics.r_precision;
  row["map_at_r"] = kPercent * metrics.map_at_r;
  row["r_precision_paper"] = kPercent * metrics.r_precision_paper;
  row["map_at_r_paper"] = kPercent * metrics.map_at_r_paper;
  for (std::size_t k = 0; k < recall_ks.size(); ++k) {
    row[py::str("recall_at_" + std::to_string(recall_ks[k]))] = kPercent * metrics.recall_at[k];
  }
  return row;
}

void bind_evaluate(py::module_& module) { module.def("evaluate", &evaluate_grids); }

}  // namespace diml::python
