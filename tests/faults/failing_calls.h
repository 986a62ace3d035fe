#pragma once

#include <atomic>
#include <string>

namespace diml::test {

// Calls of the C library that a plan lets fail: every malloc() and its relatives; writes into
// files; fsync() and its relatives; renames and links.
enum class Call : int { none, allocation, write, sync, rename };

// Lies in memory that a program and its test may share.
struct FaultPlan {
  std::atomic<Call> call{Call::none};
  std::atomic<long> before{0};  // calls that still succeed
  std::atomic<long> count{0};   // calls that fail after them
  std::atomic<long> failed{0};  // calls that have failed
};

// The plan of this process: DIML_FAULT_PLAN names a file that holds it, else it is its own.
FaultPlan& fault_plan();

constexpr long kAllThatFollow = 1L << 40;

// While it exists, a call fails: the one after `before` others, or it and all that follow.
class Fault {
 public:
  Fault(Call call, long before, long count = 1, FaultPlan& plan = fault_plan());
  ~Fault() { end(); }
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;
  void end() { plan_.call = Call::none; }
  long failed() const { return plan_.failed; }

 private:
  FaultPlan& plan_;
};

// Calls of this thread succeed, and are not counted.
void spare_this_thread();

// A plan in a file, for a program that is started with LD_PRELOAD and
// DIML_FAULT_PLAN.
class SharedPlan {
 public:
  explicit SharedPlan(std::string file);
  ~SharedPlan();
  SharedPlan(const SharedPlan&) = delete;
  SharedPlan& operator=(const SharedPlan&) = delete;
  FaultPlan& plan() { return *plan_; }

 private:
  FaultPlan* plan_;
};

}  // namespace diml::test
