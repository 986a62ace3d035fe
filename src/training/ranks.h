#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <torch/torch.h>

#include "engine/process_group.h"

namespace diml::training {

// The processes of one run, which also share tensors.
class Ranks : public ProcessGroup {
 public:
  using ProcessGroup::all_gather;
  // The whole batch, in the order of the ranks. Each rank's own part keeps its gradient; as every
  // rank computes the same loss from the whole, the sum over ranks of the gradients of the
  // network's parameters is the gradient of that loss.
  virtual torch::Tensor all_gather(const torch::Tensor& own) { return own; }
  // Sums in place over the ranks.
  virtual void all_reduce(const std::map<std::string, torch::Tensor>& /*values*/) {}
};

// As join_processes(). device: where this process computes; GPUs communicate directly where NCCL is
// available.
std::unique_ptr<Ranks> join_ranks(ProcessPlace place, torch::Device device = torch::kCPU);

}  // namespace diml::training
