#include <algorithm>
#include <memory>

#include "diml/error.h"
#include "diml/evaluate.h"
#include "evaluate_binding.h"
#include "grids.h"
#include "match/match_on_device.h"

// Grids in the memory of tensors, by address: nothing here knows torch. diml/_tensors.py checks
// types, devices and indices, and keeps the tensors alive.
namespace diml::python {
namespace {

// Of matching between two looks at Ctrl-C, in pairs of cells: a fraction of a second.
constexpr std::size_t kWorkAtOnce = std::size_t{1} << 25;

static_assert(sizeof(Pair) == 2 * sizeof(std::int64_t), "a row of [P, 2] is a pair");

// [size, cells, dim] of `type` and [size, dim] of float32, all unit vectors.
struct TensorGrids {
  std::uintptr_t cells = 0;
  CellType type = CellType::float32;
  std::size_t size = 0;
  std::size_t cells_per_grid = 0;
  std::size_t dim = 0;
  std::uintptr_t globals = 0;

  template <typename View>
  View view() const {
    View view{};
    view.cells = reinterpret_cast<const void*>(cells);
    view.type = type;
    view.size = size;
    view.cells_per_grid = cells_per_grid;
    view.dim = dim;
    view.globals = reinterpret_cast<const float*>(globals);
    return view;
  }
};

TensorGrids make_grids(std::uintptr_t cells, const std::string& type, std::size_t size,
                       std::size_t cells_per_grid, std::size_t dim, std::uintptr_t globals) {
  const CellType known = cell_type_from(type);
  if (known == CellType::int8) {
    throw Error(ErrorKind::unsupported, "tensors hold float32, float16 or bfloat16 cells");
  }
  return {cells, known, size, cells_per_grid, dim, globals};
}

// Addresses of what a call reads and writes; 0: all pairs, not wanted.
struct Places {
  std::uintptr_t pairs = 0;   // [count, 2] int64
  std::size_t count = 0;      // of pairs
  std::uintptr_t scores = 0;  // [count] float32
  std::uintptr_t plans = 0;   // [count, R_s, R_t] float32
};

void match_on_host(const TensorGrids& sources, const TensorGrids& targets, const Places& places,
                   const MatchParams& params, const std::string& backend,
                   const py::object& progress) {
  const auto matcher = matcher_for(backend);
  const Progress report = progress_to(progress);
  const py::gil_scoped_release without_gil;
  const auto from = sources.view<GridSetView>();
  const auto to = targets.view<GridSetView>();
  const std::size_t of_plan = from.cells_per_grid * to.cells_per_grid;
  const std::size_t at_once = std::max<std::size_t>(256, kWorkAtOnce / of_plan);
  const auto* listed = reinterpret_cast<const Pair*>(places.pairs);
  auto* scores = reinterpret_cast<float*>(places.scores);
  auto* plans = reinterpret_cast<float*>(places.plans);
  std::vector<Pair> all;
  for (std::size_t first = 0; first < places.count; first += at_once) {
    const std::size_t count = std::min(at_once, places.count - first);
    if (listed == nullptr) {
      all.clear();
      for (std::size_t k = first; k < first + count; ++k) {
        all.push_back(
            {static_cast<std::int64_t>(k / to.size), static_cast<std::int64_t>(k % to.size)});
      }
    }
    const std::span<const Pair> pairs(listed ? listed + first : all.data(), count);
    const std::span<float> own(scores + first, count);
    if (plans) {
      matcher->plans({from, to, pairs}, params, own, {plans + first * of_plan, count * of_plan}, {},
                     report);
    } else {
      matcher->score({from, to, pairs}, params, own, {}, Quantity::similarity, report);
    }
    report(first + count, places.count);
  }
}

#if DIML_HAS_CUDA
// Queued on the stream, which belongs to the device: the call does not wait.
void match_on_gpu(const TensorGrids& sources, const TensorGrids& targets, const Places& places,
                  const MatchParams& params, int device, std::uintptr_t stream) {
  const py::gil_scoped_release without_gil;
  const cuda::DeviceScope scope(device);
  const cuda::DeviceOutputs outputs{reinterpret_cast<float*>(places.scores),
                                    reinterpret_cast<float*>(places.plans), nullptr};
  auto* const queue = reinterpret_cast<void*>(stream);
  const auto from = sources.view<cuda::DeviceGrids>();
  const auto to = targets.view<cuda::DeviceGrids>();
  if (places.pairs != 0) {
    cuda::match_on_device(from, to, reinterpret_cast<const Pair*>(places.pairs), places.count,
                          params, outputs, queue);
  } else {
    cuda::match_all_on_device(from, to, params, outputs, queue);
  }
}
#endif

// Counts what queries found, block by block, where the lists are not in this module's hands.
class Counter {
 public:
  // labels: [Q]; hits: [Q, listed], whether a ranked image has the query's label; relevant: [Q].
  void add(const py::array_t<std::int64_t, py::array::c_style>& labels,
           const py::array_t<bool, py::array::c_style>& hits,
           const py::array_t<std::int64_t, py::array::c_style>& relevant) {
    if (hits.ndim() != 2 || labels.size() != hits.shape(0) || relevant.size() != hits.shape(0)) {
      throw Error(ErrorKind::internal, "hits is [queries, listed], with a label for each query");
    }
    const auto listed = static_cast<std::size_t>(hits.shape(1));
    std::vector<std::int64_t> ranked(listed);
    for (std::size_t q = 0; q < static_cast<std::size_t>(labels.size()); ++q) {
      const std::int64_t label = labels.data()[q];
      const bool* own = hits.data() + q * listed;
      std::transform(own, own + listed, ranked.begin(),
                     [label](bool hit) { return hit ? label : kUnlabelled; });
      metrics_.add(label, ranked, static_cast<std::size_t>(relevant.data()[q]));
    }
  }

  // The row of the whole and, by label, of each class, as evaluate() has them.
  py::tuple result() const {
    py::dict classes;
    for (const auto& [label, metrics] : metrics_.per_class()) {
      classes[py::int_(label)] = dict_of(metrics, metrics_.recall_ks());
    }
    return py::make_tuple(dict_of(metrics_.overall(), metrics_.recall_ks()), classes,
                          metrics_.left_out());
  }

  std::size_t deepest() const {
    return *std::max_element(metrics_.recall_ks().begin(), metrics_.recall_ks().end());
  }

 private:
  MetricsAccumulator metrics_;
};

}  // namespace

void bind_tensors(py::module_& module) {
  py::class_<TensorGrids>(module, "TensorGrids").def(py::init(&make_grids));
  py::class_<Places>(module, "Places")
      .def(py::init(
          [](std::uintptr_t pairs, std::size_t count, std::uintptr_t scores, std::uintptr_t plans) {
            return Places{pairs, count, scores, plans};
          }));
  module.def("match_on_host", &match_on_host);
#if DIML_HAS_CUDA
  module.def("match_on_gpu", &match_on_gpu);
#endif
  py::class_<Counter>(module, "Counter")
      .def(py::init<>())
      .def("add", &Counter::add)
      .def("result", &Counter::result)
      .def_property_readonly("deepest", &Counter::deepest);
}

}  // namespace diml::python
