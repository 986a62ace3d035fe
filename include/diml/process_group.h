#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace diml {

// The processes of one call. Alone, everything here is nothing. What is not const must be called by
// all of them, in one order; it throws where one of them has ended or says nothing for DIML_TIMEOUT
// seconds (300).
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual std::size_t rank() const { return 0; }
  virtual std::size_t size() const { return 1; }
  bool writes() const { return rank() == 0; }

  // What each of them says, in the order of their ranks.
  virtual std::vector<std::string> exchanged(const std::string& own) { return {own}; }
  // The same for the one that writes; the others get nothing.
  virtual std::vector<std::string> collected(const std::string& own) { return {own}; }
  // Until the one that writes has come as far, however long that takes.
  virtual void wait_for_writer() {}

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
