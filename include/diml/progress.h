#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <utility>

#include "diml/error.h"

namespace diml {

// Progress reports of a long task, and how the caller cancels it. Both functions are called between
// blocks of work, from the thread that started it; either may be left out.
//
// A cancelled task throws an Error of kind `cancelled`, and each function documents what it leaves
// behind. Tasks that keep each finished part (train(), add_images()) return their report, which has
// a member `cancelled`.
class Progress {
 public:
  using Report = std::function<void(std::size_t done, std::size_t total)>;
  using Cancelled = std::function<bool()>;

  Progress() = default;
  template <std::invocable<std::size_t, std::size_t> Function>
  requires(!std::same_as<std::remove_cvref_t<Function>, Progress>)
      Progress(Function report, Cancelled cancelled = {})
      : report_(std::move(report)), cancelled_(std::move(cancelled)) {}

  void operator()(std::size_t done, std::size_t total) const {
    if (report_) report_(done, total);
  }

  bool cancelled() const { return cancelled_ && cancelled_(); }

  // A task that can be cancelled calls this between two blocks: throws where it is.
  void stop_if_cancelled() const {
    if (cancelled()) throw Error(ErrorKind::cancelled, "the work was cancelled");
  }

  // The same report, with another way to cancel.
  Progress with(Cancelled cancelled) const {
    Progress other = *this;
    other.cancelled_ = std::move(cancelled);
    return other;
  }

 private:
  Report report_;
  Cancelled cancelled_;
};

}  // namespace diml
