#include <algorithm>
#include <limits>
#include <set>

#include "base/refusal.h"
#include "training/odd_config.h"

namespace diml::test {
namespace {

using training::check;
using training::set;
using training::settings_of;
using training::TrainConfig;

TEST(TrainConfig, SettingsOfAConfigMakeAnEqualOne) {
  TrainConfig copy;
  for (const auto& [name, value] : settings_of(odd_config())) set(copy, name, value);
  EXPECT_EQ(settings_of(copy), settings_of(odd_config()));
  EXPECT_EQ(copy.measure.match.transport.lambda, 0.1 + 0.2);
  EXPECT_EQ(copy.optimiser.learning_rate, 1e-5 / 3);
  EXPECT_EQ(copy.loss.numbers, odd_config().loss.numbers);
  EXPECT_EQ(copy.loss.miner_numbers, odd_config().loss.miner_numbers);
  EXPECT_EQ(copy.schedule.steps, odd_config().schedule.steps);
}

// Two names for one field, or a name for the wrong one, would leave a setting at its default.
TEST(TrainConfig, EverySettingHasAFieldOfItsOwn) {
  const auto odd = settings_of(odd_config());
  for (const auto& [name, value] : default_settings()) {
    TrainConfig config;
    const auto other = std::find_if(odd.begin(), odd.end(),
                                    [&, of = &name](const auto& one) { return one.first == *of; });
    ASSERT_NE(other, odd.end()) << name;
    EXPECT_NE(other->second, value) << name << " is no odder than by default";
    set(config, name, other->second);
    std::size_t changed = 0;
    const auto before = default_settings();
    const auto after = settings_of(config);
    for (std::size_t s = 0; s < before.size(); ++s) changed += before[s] != after[s] ? 1 : 0;
    EXPECT_EQ(changed, 1U) << name;
  }
}

TEST(TrainConfig, NamesOfSettingsAreDifferent) {
  std::set<std::string> names;
  for (const auto& [name, value] : settings_of(odd_config())) {
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

TEST(TrainConfig, NumbersOfEveryLossAndMinerAreSettings) {
  for (const auto& kind : learn::loss_kinds()) {
    for (const auto& [name, value] : kind.defaults) {
      TrainConfig config;
      set(config, "loss." + name, "0.125");
      EXPECT_EQ(config.loss.numbers.at(name), 0.125) << kind.name;
    }
  }
  for (const auto& kind : learn::miner_kinds()) {
    for (const auto& [name, value] : kind.defaults) {
      TrainConfig config;
      set(config, "miner." + name, "0.125");
      EXPECT_EQ(config.loss.miner_numbers.at(name), 0.125) << kind.name;
    }
  }
}

TEST(TrainConfig, NumbersAreWrittenAsShortAsTheyCanBe) {
  TrainConfig config;
  set(config, "ema", "0.30000000000000000");
  set(config, "optimiser.learning_rate", "0.00001");
  const auto settings = settings_of(config);
  const auto has = [&](const char* name, const char* value) {
    return std::count(settings.begin(), settings.end(),
                      std::pair<std::string, std::string>(name, value)) == 1;
  };
  EXPECT_TRUE(has("ema", "0.3"));
  EXPECT_TRUE(has("optimiser.learning_rate", "1e-05"));
  EXPECT_TRUE(has("evaluate.rerank", "0,100"));
  EXPECT_TRUE(has("schedule.steps", ""));
}

TEST(TrainConfig, RefusesValuesThatAreOnlyPartlyOne) {
  TrainConfig config;
  const auto refuses = [&](const char* name, const char* value, const char* why) {
    expect_refused([&] { set(config, name, value); }, why);
  };
  refuses("ema", "0.3x", "ema cannot be '0.3x': it takes a number, such as 0");
  refuses("ema", "", "it takes a number");
  refuses("ema", " 0.3", "it takes a number");
  refuses("ema", "nan", "it takes a number");
  refuses("ema", "inf", "it takes a number");
  refuses("ema", "1e999", "it takes a number");
  refuses("ema", "0\n1", "cannot be '0 1'");
  refuses("epochs", "1.5",
          "epochs cannot be '1.5': it takes a whole number of at least 0, such as 150");
  refuses("epochs", "-1", "at least 0");
  refuses("seed", "18446744073709551616", "at least 0");
  refuses("threads", "two", "a whole number");
  refuses("dataset.skip_bad", "yes", "true or false");
  refuses("evaluate.rerank", "0,,100", "whole numbers with commas between them, such as 0,100");
  refuses("evaluate.rerank", "0,", "commas");
  refuses("measure.kind", "globl", "global, structural or blended");
  refuses("loss.margin", "wide", "loss.margin cannot be 'wide': it takes a number, such as");
  EXPECT_EQ(settings_of(config), default_settings());
}

TEST(TrainConfig, ListsMayHaveBlanks) {
  TrainConfig config;
  set(config, "evaluate.rerank", "0, 100 ,1000");
  EXPECT_EQ(config.evaluate.rerank, (std::vector<std::size_t>{0, 100, 1000}));
  set(config, "evaluate.rerank", "");
  EXPECT_TRUE(config.evaluate.rerank.empty());
}

TEST(TrainConfig, AnswersAnUnknownNameWithTheNearest) {
  TrainConfig config;
  expect_refused([&] { set(config, "epoch", "3"); },
                 "there is no setting 'epoch': the nearest is epochs");
  expect_refused([&] { set(config, "loss.margn", "3"); }, "the nearest is loss.margin");
  expect_refused([&] { set(config, "optimizer.name", "sgd"); }, "the nearest is optimiser.name");
  // The last part alone; and where nothing is like it, no name is guessed.
  expect_refused([&] { set(config, "batch", "3"); }, "the nearest is sampler.batch");
  expect_refused([&] { set(config, "frobnicate", "3"); },
                 "there is no setting 'frobnicate': docs/training.md lists them");
}

TrainConfig good_config() {
  TrainConfig config;
  set(config, "dataset.name", "critters");
  set(config, "dataset.root", "critters");
  return config;
}

TEST(TrainConfigCheck, TakesTheDefaultsWithADataSet) { EXPECT_NO_THROW(check(good_config())); }

TEST(TrainConfigCheck, DoesNotMindTheOrderOfSettings) {
  TrainConfig config = good_config();
  set(config, "loss.proxy_lr_factor", "10");
  expect_refused([&] { check(config); }, "loss.proxy_lr_factor is not a number of the loss margin");
  set(config, "loss.name", "proxynca");
  EXPECT_NO_THROW(check(config));
}

TEST(TrainConfigCheck, RefusesWhatIsOutOfRangeOrUnknown) {
  struct Case {
    const char* name;
    const char* value;
    const char* why;
  };
  const Case cases[] = {
      {"dataset.name", "", "no data set is named: set dataset.name to one of cub200"},
      {"dataset.name", "criters", "the nearest is critters"},
      {"dataset.root", "", "dataset.root is empty"},
      {"model.architecture", "resnet5", "the nearest is resnet50"},
      {"model.dim", "0", "1 to 4096"},
      {"model.crop", "15", "16 to 4096"},
      {"model.resize", "4097", "16 to 4096"},
      {"loss.name", "tripple", "loss.name cannot be 'tripple': the nearest is triplet"},
      {"loss.name", "foo", "loss.name cannot be 'foo': there are angular, arcface"},
      {"loss.miner", "distanc", "the nearest is distance"},
      {"loss.gamma", "1", "loss.gamma is not a number of the loss margin: it has"},
      {"measure.lambda", "0", "lambda"},
      {"measure.tolerance", "0", "tolerance"},
      {"measure.max_iterations", "0", "max_iterations"},
      {"measure.matcher", "gpu", "unknown matcher 'gpu'"},
      {"grid", "0", "1 to 14"},
      {"grid", "15", "1 to 14"},
      {"pooling", "mean", "align or roi_align"},
      {"sampler.name", "m_per_clas", "sampler.name cannot be 'm_per_clas'"},
      {"sampler.batch", "1", "2 images or more"},
      {"sampler.batch", "113", "sampler.batch is 113, sampler.per_class 2"},
      {"sampler.per_class", "0", "1 or more"},
      {"optimiser.name", "adm", "adam, adamw, sgd"},
      {"optimiser.learning_rate", "0", "above 0"},
      {"optimiser.projection_rate", "-1", "above 0, or 0"},
      {"optimiser.weight_decay", "-1", "0 or more"},
      {"optimiser.momentum", "1", "below 1"},
      {"optimiser.beta1", "1", "below 1"},
      {"optimiser.beta2", "-0.1", "at least 0"},
      {"optimiser.epsilon", "0", "above 0"},
      {"optimiser.clip", "-1", "0 for no limit"},
      {"ema", "1", "ema is 1: it must be at least 0 and below 1"},
      {"schedule.name", "cosin", "none, step, cosine"},
      {"schedule.name", "step", "schedule.steps is empty: set it"},
      {"schedule.steps", "10", "schedule.name is none: set it to step"},
      {"schedule.warm_up_epochs", "151", "warm up for fewer"},
      {"schedule.gamma", "0", "above 0"},
      {"augment.smallest_area", "0", "above 0"},
      {"augment.largest_area", "0.01", "augment.smallest_area"},
      {"augment.smallest_ratio", "2", "at most augment.largest_ratio"},
      {"augment.flip", "1.5", "0 to 1"},
      {"evaluate.every", "0", "1 or more"},
      {"evaluate.rerank", "", "evaluate.rerank is empty"},
      {"evaluate.select", "train", "test, val"},
      {"epochs", "0", "1 or more"},
      {"device", "gpu", "cpu, cuda"},
      {"device", "cuda:", "cpu, cuda"},
      {"device", "cuda:1x", "cpu, cuda"},
      {"precision", "float16", "float32 or bfloat16"},
      {"threads", "-1", "0 (all cores) or more"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(std::string(one.name) + "=" + one.value);
    TrainConfig config = good_config();
    const auto refuse = [&] {
      set(config, one.name, one.value);
      check(config);
    };
    expect_refused(refuse, one.why);
  }
}

TEST(TrainConfigCheck, TakesEveryLossMinerSamplerAndDevice) {
  for (const auto& kind : learn::loss_kinds()) {
    TrainConfig config = good_config();
    config.loss.name = kind.name;
    config.loss.numbers = kind.defaults;
    EXPECT_NO_THROW(check(config)) << kind.name;
  }
  for (const auto& kind : learn::miner_kinds()) {
    TrainConfig config = good_config();
    config.loss.miner = kind.name;
    config.loss.miner_numbers = kind.defaults;
    EXPECT_NO_THROW(check(config)) << kind.name;
  }
  for (const auto& kind : learn::sampler_kinds()) {
    TrainConfig config = good_config();
    config.sampler.name = kind.name;
    EXPECT_NO_THROW(check(config)) << kind.name;
  }
  for (const char* device : {"cpu", "cuda", "cuda:0", "cuda:12"}) {
    TrainConfig config = good_config();
    config.device = device;
    EXPECT_NO_THROW(check(config)) << device;
  }
}

TEST(TrainConfigCheck, RefusesAMinerWhereTheLossTakesNone) {
  TrainConfig config = good_config();
  set(config, "loss.name", "proxynca");
  set(config, "loss.miner", "distance");
  expect_refused([&] { check(config); }, "the loss proxynca takes no miner: leave out loss.miner");
}

TEST(TrainConfigCheck, RefusesStepsThatFall) {
  TrainConfig config = good_config();
  set(config, "schedule.name", "step");
  for (const char* steps : {"20,10", "10,10", "0,10"}) {
    set(config, "schedule.steps", steps);
    expect_refused([&] { check(config); }, "they must rise, from 1 on");
  }
  set(config, "schedule.steps", "10,20");
  EXPECT_NO_THROW(check(config));
}

TEST(TrainConfigCheck, RefusesNumbersThatAreNone) {
  TrainConfig config = good_config();
  config.ema = std::numeric_limits<double>::quiet_NaN();
  expect_refused([&] { check(config); }, "ema is nan");
  config = good_config();
  config.loss.numbers["margin"] = std::numeric_limits<double>::infinity();
  expect_refused([&] { check(config); }, "loss.margin is inf");
}

}  // namespace
}  // namespace diml::test
