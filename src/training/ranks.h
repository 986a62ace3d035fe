#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <torch/torch.h>

#include "diml/learn/grids.h"

namespace diml::training {

// The processes of one run. Alone, everything here is nothing.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual std::size_t rank() const { return 0; }
  virtual std::size_t size() const { return 1; }
  bool writes() const { return rank() == 0; }

  // The whole batch, in the order of the ranks. Each rank's own part keeps its gradient; as every
  // rank computes the same loss from the whole, the sum over ranks of the gradients of the
  // network's parameters is the gradient of that loss.
  virtual torch::Tensor gathered(const torch::Tensor& own) { return own; }
  // Sums in place over the ranks.
  virtual void sum_gradients(const std::map<std::string, torch::Tensor>& /*values*/) {}
  // Until the one that writes has come as far, however long it evaluates.
  virtual void wait_for_writer() {}
};

// Which of this machine's processes this one is, counted from 0: each takes a GPU of its own.
std::size_t local_rank();

// From RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT (torchrun), or from what mpirun and Slurm set;
// alone where none is set.
std::unique_ptr<Ranks> join_ranks();

}  // namespace diml::training
