#include <ctime>

#include "diml/match.h"
#include "grids.h"

// What the same work costs in C++, in this process: python/benchmarks/overhead.py compares.
namespace diml::python {
namespace {

// Seconds that this thread has worked, as time.thread_time() of Python: those that it waited for a
// core of a busy machine do not count.
double seconds_of_thread() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Of one match(), the mean of `times`.
double seconds_of_match(const std::shared_ptr<Grids>& source, const std::shared_ptr<Grids>& target,
                        std::size_t times) {
  const GridView from = (*source)[0];
  const GridView to = (*target)[0];
  double sum = 0.0;
  const double start = seconds_of_thread();
  for (std::size_t k = 0; k < times; ++k) sum += match(from, to).score;
  const double seconds = seconds_of_thread() - start;
  if (!(sum == sum)) throw Error(ErrorKind::internal, "a score is not a number");
  return seconds / static_cast<double>(times);
}

// Of one Matcher::score() of all pairs of two sets, with one thread.
double seconds_of_scores(const std::shared_ptr<Grids>& sources,
                         const std::shared_ptr<Grids>& targets) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < sources->size(); ++i) {
    for (std::size_t j = 0; j < targets->size(); ++j) {
      pairs.push_back({static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)});
    }
  }
  std::vector<float> scores(pairs.size());
  const GridSetView from = sources->one_shape("a benchmark");
  const GridSetView to = targets->one_shape("a benchmark");
  const auto matcher = make_matcher(Backend::fastest, {1});
  const py::gil_scoped_release without_gil;
  const double start = seconds_of_thread();
  matcher->score({from, to, pairs}, {}, scores);
  return seconds_of_thread() - start;
}

}  // namespace

void bind_timing(py::module_& module) {
  module.def("seconds_of_match", &seconds_of_match, py::arg("source"), py::arg("target"),
             py::arg("times"));
  module.def("seconds_of_scores", &seconds_of_scores, py::arg("sources"), py::arg("targets"));
}

}  // namespace diml::python
