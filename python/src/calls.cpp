#include "calls.h"

#include <atomic>

namespace diml::python {
namespace {

std::atomic<int> thread_setting{0};

// Throws on Ctrl-C, and looks for it no more often than it should. Called from one thread.
class Look {
 public:
  bool operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ >= kBetweenLooks) {
      last_ = now;
      check_signals();
    }
    return false;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

Progress::Cancelled look() {
  return [look = std::make_shared<Look>()] { return (*look)(); };
}

}  // namespace

int threads() { return thread_setting; }

void set_threads(int count) {
  if (count < 0) throw Error("the number of threads is 0 (all cores) or more");
  thread_setting = count;
}

void check_signals() {
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

Progress progress_to(const py::object& function) {
  if (function.is_none()) return ended_by_ctrl_c();
  // The last copy may end without the GIL.
  const std::shared_ptr<py::object> kept(new py::object(function), [](py::object* object) {
    const py::gil_scoped_acquire gil;
    delete object;
  });
  return Progress(
      [kept](std::size_t done, std::size_t total) {
        const py::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        (*kept)(done, total);
      },
      look());
}

Progress ended_by_ctrl_c() {
  const Progress::Cancelled looked = look();
  return Progress([looked](std::size_t, std::size_t) { looked(); }, looked);
}

Watch::Watch(const py::object& function) : report_(progress_to(function)) {}

Progress Watch::progress() const {
  return Progress(
      [report = report_, stopped = stopped_](std::size_t done, std::size_t total) {
        if (*stopped) return;
        try {
          report(done, total);
        } catch (...) {
          *stopped = std::current_exception();
        }
      },
      [report = report_, stopped = stopped_] {
        if (*stopped) return true;
        try {
          return report.cancelled();
        } catch (...) {
          *stopped = std::current_exception();
          return true;
        }
      });
}

void Watch::rethrow() const {
  if (*stopped_) std::rethrow_exception(*stopped_);
}

MatchParams match_params(const std::string& marginals, double lambda, double tolerance,
                         int max_iterations) {
  MatchParams params;
  params.marginals = marginal_rule_from(marginals);
  params.transport.lambda = lambda;
  params.transport.tolerance = tolerance;
  params.transport.max_iterations = max_iterations;
  check_params(params.transport);
  return params;
}

std::unique_ptr<Matcher> matcher_for(const std::string& backend) {
  const Backend wanted = backend_from(backend);
  const py::gil_scoped_release without_gil;
  return make_matcher(wanted, {threads()});
}

void raise(const Error& error) {
  // The classes are written in Python, beside this module.
  const py::object made =
      py::module_::import("diml._errors")
          .attr("of_kind")(name_of(error.kind()), error.what(), error.parameter());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
}

}  // namespace diml::python
