#include "learning_groups.h"

#include <cmath>
#include <map>
#include <string>

namespace diml::training {

std::vector<learn::LearningGroup> learning_groups(
    const TrainConfig& config, const learn::TrainableNetwork& network,
    const std::vector<learn::LossParameter>& of_loss) {
  const double rate = config.optimiser.learning_rate;
  const double decay = config.optimiser.weight_decay;
  std::map<std::size_t, learn::LearningGroup> parts;
  for (const auto& [name, behind] : network.parts_behind()) {
    const bool whole = config.layer_decay == 1.0;
    learn::LearningGroup& group = parts[whole ? 0 : behind];
    // Checkpoints have these names.
    group.name = whole ? "backbone" : "backbone." + std::to_string(behind);
    group.learning_rate =
        whole ? rate : rate * std::pow(config.layer_decay, static_cast<double>(behind));
    group.weight_decay = decay;
    group.values[name] = network.parameters().at(name);
  }
  std::vector<learn::LearningGroup> groups;
  for (auto& [behind, group] : parts) groups.push_back(std::move(group));

  learn::LearningGroup projection{
      "projection", config.projection_rate > 0.0 ? config.projection_rate : rate, decay, {}};
  for (const auto& [name, value] : network.parameters()) {
    if (name.starts_with("projection.")) projection.values[name] = value;
  }
  groups.push_back(std::move(projection));
  for (const learn::LossParameter& parameter : of_loss) {
    groups.push_back({parameter.name,
                      parameter.learning_rate,
                      0.0,  // weight decay makes no sense for boundaries and unit proxies
                      {{parameter.name, parameter.value}}});
  }
  return groups;
}

}  // namespace diml::training
