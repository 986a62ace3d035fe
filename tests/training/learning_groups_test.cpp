#include "learning_groups.h"

#include <gtest/gtest.h>

namespace diml::training {
namespace {

const char* const kArchitecture = "vit:width=32,depth=3,heads=2,patch=8,pixels=32";

std::map<std::string, double> rates_with(double layer_decay) {
  TrainConfig config;
  config.optimiser.learning_rate = 1.0;
  config.projection_rate = 5.0;
  config.layer_decay = layer_decay;
  const learn::TrainableNetwork network(make_model(kArchitecture, StridePlace::in_3x3, 16, 1),
                                        torch::kCPU);
  std::map<std::string, double> rates;
  std::size_t values = 0;
  for (const learn::LearningGroup& group : learning_groups(config, network, {})) {
    rates[group.name] = group.learning_rate;
    values += group.values.size();
  }
  EXPECT_EQ(values, network.parameters().size());  // each learns, and once
  return rates;
}

TEST(LearningGroups, OneForTheBackboneAndOneForTheProjection) {
  EXPECT_EQ(rates_with(1.0),
            (std::map<std::string, double>{{"backbone", 1.0}, {"projection", 5.0}}));
}

TEST(LearningGroups, EarlierPartsLearnSlower) {
  EXPECT_EQ(rates_with(0.5), (std::map<std::string, double>{{"backbone.0", 1.0},  // the norm
                                                            {"backbone.1", 0.5},  // blocks
                                                            {"backbone.2", 0.25},
                                                            {"backbone.3", 0.125},
                                                            {"backbone.4", 0.0625},  // the stem
                                                            {"projection", 5.0}}));
}

}  // namespace
}  // namespace diml::training
