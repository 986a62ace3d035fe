#include "engine/process_group.h"

#include "environment.h"
#if DIML_HAS_TORCH
#include "engine/torch_plugin.h"
#endif

namespace diml {

void ProcessGroup::expect_same(const std::string& own, const std::string& what) {
  const std::vector<std::string> all = all_gather(own);
  for (std::size_t other = 0; other < all.size(); ++other) {
    if (all[other] == own) continue;
    throw Error("process " + std::to_string(other) + " of " + std::to_string(size()) +
                " has other " + what + " than process " + std::to_string(rank()) +
                ": give all of them the same");
  }
}

// torchrun, Open MPI, MPICH and Slurm each have their own names for the same two numbers.
ProcessPlace process_place() {
  // SLURM_STEP_NUM_TASKS, not SLURM_NTASKS: a batch script that starts one process without srun
  // has the latter too, and would wait for processes that were never started.
  constexpr const char* kNames[][2] = {{"RANK", "WORLD_SIZE"},
                                       {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                       {"PMI_RANK", "PMI_SIZE"},
                                       {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  for (const auto& names : kNames) {
    if (variable(names[0]).empty() || variable(names[1]).empty()) continue;
    const ProcessPlace place{number_in(names[0]), number_in(names[1])};
    if (place.rank >= place.size) {
      throw Error(std::string(names[0]) + " must be below " + names[1]);
    }
    return place;
  }
  return {};
}

std::unique_ptr<ProcessGroup> join_processes() {
  const ProcessPlace place = process_place();
  if (place.size == 1) return std::make_unique<ProcessGroup>();
#if DIML_HAS_TORCH
  return torch_plugin().join_processes(place);
#else
  throw Error(
      ErrorKind::unsupported,
      std::to_string(place.size) +
          " processes were started for one call, but this build supports only one: build with "
          "libtorch-dev");
#endif
}

}  // namespace diml
