#include "schedule.h"

#include <cmath>

#include <gtest/gtest.h>

namespace diml::training {
namespace {

training::ScheduleParams named(const char* name) {
  training::ScheduleParams settings;
  settings.name = name;
  return settings;
}

TEST(Schedule, NoneKeepsTheRate) {
  for (const double progress : {0.0, 0.5, 99.9}) {
    EXPECT_EQ(rate_factor(named("none"), progress, 100), 1.0);
  }
}

TEST(Schedule, StepsMultiplyFromTheirEpochOn) {
  training::ScheduleParams settings = named("step");
  settings.steps = {10, 20};
  settings.gamma = 0.3;
  EXPECT_EQ(rate_factor(settings, 9.99, 30), 1.0);
  EXPECT_EQ(rate_factor(settings, 10.0, 30), 0.3);
  EXPECT_EQ(rate_factor(settings, 19.99, 30), 0.3);
  EXPECT_DOUBLE_EQ(rate_factor(settings, 20.0, 30), 0.09);
}

TEST(Schedule, CosineFallsToNothing) {
  EXPECT_EQ(rate_factor(named("cosine"), 0.0, 40), 1.0);
  EXPECT_NEAR(rate_factor(named("cosine"), 10.0, 40), 0.5 + std::sqrt(0.125), 1e-15);
  EXPECT_NEAR(rate_factor(named("cosine"), 20.0, 40), 0.5, 1e-15);
  EXPECT_NEAR(rate_factor(named("cosine"), 40.0, 40), 0.0, 1e-15);
}

TEST(Schedule, WarmUpRisesInALine) {
  for (const char* name : {"none", "cosine"}) {
    training::ScheduleParams settings = named(name);
    settings.warm_up_epochs = 4;
    EXPECT_EQ(rate_factor(settings, 0.0, 44), 0.0);
    EXPECT_EQ(rate_factor(settings, 1.0, 44), 0.25);
    EXPECT_EQ(rate_factor(settings, 3.5, 44), 0.875);
    EXPECT_EQ(rate_factor(settings, 4.0, 44), 1.0);
  }
  training::ScheduleParams settings = named("cosine");
  settings.warm_up_epochs = 4;
  EXPECT_NEAR(rate_factor(settings, 24.0, 44), 0.5, 1e-15);
  settings.warm_up_epochs = 44;  // nothing but warming up
  EXPECT_EQ(rate_factor(settings, 22.0, 44), 0.5);
}

}  // namespace
}  // namespace diml::training
