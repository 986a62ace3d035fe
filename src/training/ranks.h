#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <torch/torch.h>

#include "diml/learn/grids.h"
#include "diml/process_group.h"

namespace diml::training {

// The processes of one run, who also share arrays.
class Ranks : public ProcessGroup {
 public:
  // The whole batch, in the order of the ranks. Each rank's own part keeps its gradient; as every
  // rank computes the same loss from the whole, the sum over ranks of the gradients of the
  // network's parameters is the gradient of that loss.
  virtual torch::Tensor gathered(const torch::Tensor& own) { return own; }
  // Sums in place over the ranks.
  virtual void sum_gradients(const std::map<std::string, torch::Tensor>& /*values*/) {}
};

// As join_processes(). device: where this process computes; GPUs talk to each other by themselves
// where NCCL is there.
std::unique_ptr<Ranks> join_ranks(ProcessPlace place, torch::Device device = torch::kCPU);

}  // namespace diml::training
