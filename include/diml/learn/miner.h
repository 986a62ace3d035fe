#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <torch/torch.h>

namespace diml::learn {

// What miners choose from: Euclidean distances of the unit globals, without gradient, on the CPU.
struct MinerInput {
  torch::Tensor distances;  // [N, N] float32
  torch::Tensor labels;     // [N] int64
  std::int64_t dim = 128;   // of the embedding, for the distance rule
  std::uint64_t seed = 0;
};

// Indices into the batch, int64. Pair losses look at (anchor, positive) and (anchor, negative).
struct Triplets {
  torch::Tensor anchors;    // [T]
  torch::Tensor positives;  // [T]
  torch::Tensor negatives;  // [T]
};

// Chooses what a batch teaches. Deterministic from the seed.
class Miner {
 public:
  virtual ~Miner() = default;
  virtual Triplets operator()(const MinerInput& input) = 0;
};

struct MinerKind {
  const char* name;
  const char* about;
  std::map<std::string, double> defaults;
  std::unique_ptr<Miner> (*make)(const std::map<std::string, double>& numbers);
};
const std::vector<MinerKind>& miner_kinds();
std::unique_ptr<Miner> make_miner(std::string_view name,
                                  const std::map<std::string, double>& numbers = {});

}  // namespace diml::learn
