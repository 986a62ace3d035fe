#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "diml/error.h"
#include "diml/matcher.h"
#include "diml/progress.h"

// What every call from Python has in common.
namespace diml::python {

namespace py = pybind11;

// The number of threads of calls: set_threads() of Python. 0: the library's default.
int threads();
void set_threads(int count);

// Between two looks at Ctrl-C: whoever waits notices no more, and the GIL is not asked for all the
// time while other threads run Python.
constexpr std::chrono::milliseconds kBetweenLooks{50};

// Throws what Python wants to raise (Ctrl-C). The caller does not hold the GIL.
void check_signals();

// Reports to a Python function of (done, total), or to none, and ends the task on Ctrl-C or where
// the function raises: the exception passes through the library. Where the library asks between two
// blocks whether it is cancelled, Ctrl-C is looked for, at most every kBetweenLooks. The task runs
// without the GIL.
Progress progress_to(const py::object& function);

// The same without a function.
Progress ended_by_ctrl_c();

// Runs `work`, which cannot be cancelled, on a thread of its own: Ctrl-C ends the wait, and leaves
// the thread to its end. So `work` owns everything that it uses, and nothing of Python. The caller
// does not hold the GIL.
template <typename Work>
auto wait_for(Work work) -> decltype(work()) {
  std::packaged_task<decltype(work())()> task(std::move(work));
  auto result = task.get_future();
  std::thread(std::move(task)).detach();
  while (result.wait_for(kBetweenLooks) != std::future_status::ready) check_signals();
  return result.get();
}

// The same for tasks that keep what they have done: Ctrl-C and a function that raises cancel them.
class Watch {
 public:
  explicit Watch(const py::object& function);
  Progress progress() const;
  // Throws what stopped the task, if anything did.
  void rethrow() const;
  // Runs the task without the GIL, and throws what stopped it.
  template <class Task>
  void run(const Task& task) const {
    try {
      const py::gil_scoped_release without_gil;
      task();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::cancelled) throw;
    }
    rethrow();
  }

 private:
  Progress report_;
  std::shared_ptr<std::exception_ptr> stopped_ = std::make_shared<std::exception_ptr>();
};

// How pairs are matched, from Python's keywords.
MatchParams match_params(const std::string& marginals, double lambda, double tolerance,
                         int max_iterations);

// What pickle keeps of them, and back.
py::tuple state_of(const MatchParams& params);
MatchParams params_of(const py::tuple& state);

// The caller holds the GIL, which others may have while it is made: a GPU takes seconds to start.
std::unique_ptr<Matcher> matcher_for(const std::string& backend);

// Raises the Python exception of the error's kind.
void raise(const Error& error);

// A new array of the values, [rows, cols] or [rows].
template <typename T>
py::array_t<T> array_of(const std::vector<T>& values) {
  return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
}

template <typename T>
py::array_t<T> array_of(const std::vector<T>& values, std::size_t rows, std::size_t cols) {
  py::array_t<T> array({static_cast<py::ssize_t>(rows), static_cast<py::ssize_t>(cols)});
  std::copy(values.begin(), values.end(), array.mutable_data());
  return array;
}

void bind_grids(py::module_& module);
void bind_match(py::module_& module);
void bind_pairs(py::module_& module);
void bind_search(py::module_& module);
void bind_evaluate(py::module_& module);
void bind_embedder(py::module_& module);
void bind_gallery(py::module_& module);
void bind_samples(py::module_& module);
void bind_weights(py::module_& module);
void bind_timing(py::module_& module);
void bind_tensors(py::module_& module);
void bind_generated(py::module_& module);

}  // namespace diml::python
