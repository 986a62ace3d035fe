#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <torch/torch.h>

#include "diml/learn/measure.h"
#include "diml/learn/miner.h"

namespace diml::learn {

// One step as a loss sees it.
struct LossInput {
  const Grids& batch;
  const torch::Tensor& labels;  // [N] int64, 0 to classes - 1
  const PairMeasure& measure;
  std::uint64_t seed = 0;  // of this step: random choices depend on nothing else
};

// A parameter of a loss that is learnt with the network: proxies, class vectors, boundaries. It is
// created on the CPU in float32; value.set_data(value.to(...)) moves it, also for the loss.
struct LossParameter {
  std::string name;  // "proxies", "beta"
  torch::Tensor value;
  double learning_rate = 0.0;
};

class Loss {
 public:
  virtual ~Loss() = default;
  // A scalar. Zero, with a gradient of zero, where a batch has no pairs for the loss.
  virtual torch::Tensor operator()(const LossInput& input) = 0;
  virtual std::vector<LossParameter> parameters() { return {}; }
};

// What a loss must know about the run when it is created.
struct LossContext {
  std::int64_t classes = 0;
  std::int64_t dim = 128;
  std::int64_t cells = 0;       // per grid, of proxies; 0 where the measure is global
  double learning_rate = 1e-5;  // of the network
  std::uint64_t seed = 0;
};

// One line in the family's table.
struct LossKind {
  const char* name;
  const char* about;
  const char* miner;  // the default miner; "" where the loss uses none
  Numbers defaults;   // with the values of the method's table
  std::unique_ptr<Loss> (*make)(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                const LossContext& context);
};
const std::vector<LossKind>& loss_kinds();

struct LossParams {
  std::string name = "margin";
  std::string miner = "";  // "" for the loss's own default
  Numbers numbers{};       // those that differ from the defaults
  Numbers miner_numbers{};
};

// Throws on unknown names of the loss, its numbers or its miner, with the nearest known name.
std::unique_ptr<Loss> make_loss(const LossParams& params, const LossContext& context);

}  // namespace diml::learn
