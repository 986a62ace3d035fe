#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <utility>

namespace diml {

// Progress reports of a long task, and how the caller cancels it. Both functions are called between
// blocks of work, from the thread that started it; either may be left out.
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

  // A task that can be cancelled calls this between two blocks. Each function documents what it
  // leaves behind then.
  bool cancelled() const { return cancelled_ && cancelled_(); }

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
