#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <torch/torch.h>

namespace diml::learn {

// Numbers of a loss or a miner, by name.
using Numbers = std::map<std::string, double>;

// The input of miners: Euclidean distances of the unit globals, without gradient, on the CPU.
struct MinerInput {
  torch::Tensor distances;  // [N, N] float32
  torch::Tensor labels;     // [N] int64
  std::int64_t dim = 128;   // of the embedding, for the distance rule
  std::uint64_t seed = 0;
};

// The choice of a miner, as int64 indices into the batch. Pair losses use each pair once; the
// triplets are every positive of an anchor with every negative of that anchor.
struct Mined {
  torch::Tensor positives;  // [P, 2]: anchor, another image of its class
  torch::Tensor negatives;  // [Q, 2]: anchor, an image of another class
};

// batch: the number of images, N. Returns [N, N] bool, true at each of `pairs`, [P, 2].
torch::Tensor mask_of(const torch::Tensor& pairs, std::int64_t batch);

struct Triplets {
  torch::Tensor anchors;    // [T]
  torch::Tensor positives;  // [T]
  torch::Tensor negatives;  // [T]
};
Triplets triplets_of(const Mined& mined, std::int64_t batch);

// Chooses the pairs of a batch that the loss uses. Deterministic, given the seed.
class Miner {
 public:
  virtual ~Miner() = default;
  virtual Mined operator()(const MinerInput& input) = 0;
};

struct MinerKind {
  const char* name;
  const char* about;
  Numbers defaults;
  std::unique_ptr<Miner> (*make)(const Numbers& numbers);
};
const std::vector<MinerKind>& miner_kinds();

// numbers: those that differ from the defaults. Throws on unknown names, with the nearest known
// name.
std::unique_ptr<Miner> make_miner(std::string_view name, const Numbers& numbers = {});

}  // namespace diml::learn
