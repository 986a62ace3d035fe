#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace diml {

// The processes of one call. The base class is a process alone: its all_gather() and gather() give
// back what they get. Functions that are not const must be called by all processes, in one order;
// they throw where a process has ended or is silent for DIML_TIMEOUT seconds (300).
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual std::size_t rank() const { return 0; }
  virtual std::size_t size() const { return 1; }
  // The root process writes the files and has the results.
  bool is_root() const { return rank() == 0; }

  // The texts of all processes, in the order of their ranks.
  virtual std::vector<std::string> all_gather(const std::string& own) { return {own}; }
  // The same on the root process; nothing on the others.
  virtual std::vector<std::string> gather(const std::string& own) { return {own}; }
  // Waits until all processes are here. The root process may take any time to come.
  virtual void barrier() {}

  // Throws unless all say the same; `what` names it.
  void expect_same(const std::string& own, const std::string& what);
};

struct ProcessPlace {
  std::size_t rank = 0;
  std::size_t size = 1;
};

// From RANK and WORLD_SIZE (torchrun), or from what mpirun and Slurm set; alone where none is set.
ProcessPlace process_place();

// Waits for the others, by MASTER_ADDR and MASTER_PORT. Several processes need the TORCH feature.
std::unique_ptr<ProcessGroup> join_processes();

}  // namespace diml
