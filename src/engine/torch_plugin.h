#pragma once

#include <memory>
#include <string>
#include <vector>

#include "diml/network.h"
#include "diml/train.h"
#include "engine/process_group.h"
#include "models/model.h"
#include "models/tap.h"

namespace diml {

// One line of a family's table: a loss, a miner, a sampler.
struct KindRow {
  std::string name;
  std::string about;
  std::string miner;  // of losses
  std::vector<std::pair<std::string, double>> defaults{};
};

// What needs LibTorch. It lives in a library of its own that is loaded when it is first asked for:
// LibTorch brings some 280 others, and a program that does not train should start at once.
struct TorchPlugin {
  std::unique_ptr<Network> (*make_network)(const Model&, const EmbeddingParams&, const Tap&);
  std::unique_ptr<Network> (*load_torchscript)(const std::string&, const EmbeddingParams&);
  void (*check_training)(const TrainParams&);
  TrainSummary (*train)(const TrainParams&, const TrainHooks&);
  std::unique_ptr<ProcessGroup> (*join_processes)(ProcessPlace);
  std::vector<KindRow> (*losses)();
  std::vector<KindRow> (*miners)();
  std::vector<KindRow> (*samplers)();
};

// Looked for in DIML_PLUGINS, beside the program or library, and in diml/ and ../lib/diml from there. Throws with the
// remedy where it is not found or cannot be loaded.
const TorchPlugin& torch_plugin();

}  // namespace diml
