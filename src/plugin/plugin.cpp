// The door of libdiml_torch.so.

#include "diml/learn/loss.h"
#include "engine/torch_plugin.h"
#include "learn/sampler.h"
#include "learn/torch_network.h"
#include "training/ranks.h"
#include "training/run_training.h"

namespace diml {
namespace {

std::vector<KindRow> losses() {
  std::vector<KindRow> rows;
  for (const learn::LossKind& kind : learn::loss_kinds()) {
    rows.push_back(
        {kind.name, kind.about, kind.miner, {kind.defaults.begin(), kind.defaults.end()}});
  }
  return rows;
}

std::vector<KindRow> miners() {
  std::vector<KindRow> rows;
  for (const learn::MinerKind& kind : learn::miner_kinds()) {
    rows.push_back({kind.name, kind.about, "", {kind.defaults.begin(), kind.defaults.end()}});
  }
  return rows;
}

std::vector<KindRow> samplers() {
  std::vector<KindRow> rows;
  for (const learn::SamplerKind& kind : learn::sampler_kinds()) {
    rows.push_back({kind.name, kind.about, "", {}});
  }
  return rows;
}

std::unique_ptr<ProcessGroup> join(ProcessPlace place) { return training::join_ranks(place); }

}  // namespace
}  // namespace diml

extern "C" __attribute__((visibility("default"))) const diml::TorchPlugin* diml_torch_plugin() {
  static const diml::TorchPlugin plugin = {diml::make_torch_network,
                                           diml::load_torchscript_network,
                                           diml::training::check_run,
                                           diml::training::run_training,
                                           diml::join,
                                           diml::losses,
                                           diml::miners,
                                           diml::samplers};
  return &plugin;
}
