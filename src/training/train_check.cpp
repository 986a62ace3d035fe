#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/nearest_name.h"
#include "base/setting_text.h"
#include "diml/dataset.h"
#include "diml/error.h"
#include "match/backends.h"
#include "models/architecture.h"
#include "models/model.h"
#include "training/train_config.h"

namespace diml::training {
namespace {

using namespace learn;
using text::from_text;
using text::to_text;

constexpr double kNoLimit = std::numeric_limits<double>::max();
constexpr double kBelowOne = 1.0 - std::numeric_limits<double>::epsilon() / 2;  // of [0, 1)
constexpr double kAboveZero = std::numeric_limits<double>::min();
constexpr std::size_t kLargestGrid = 14;  // finer than any map of ours
constexpr std::size_t kMostDimensions = 4096;

const std::vector<std::string> kOptimisers = {"adam", "adamw", "sgd"};
const std::vector<std::string> kSchedules = {"none", "step", "cosine"};
const std::vector<std::string> kSelections = {"test", "val", "last"};

template <typename Kinds>
std::vector<std::string> names_of(const Kinds& kinds) {
  std::vector<std::string> names;
  for (const auto& kind : kinds) names.emplace_back(kind.name);
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void expect(bool holds, const std::string& otherwise) {
  if (!holds) throw Error(otherwise);
}

// A short list is printed whole; of a long one only the nearest name.
void expect_known(const char* setting, const std::string& value,
                  const std::vector<std::string>& known) {
  constexpr std::size_t kShort = 4;
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  throw Error(std::string(setting) + " cannot be '" + value + "': " +
              (known.size() <= kShort ? "there are " + joined(known)
                                      : "the nearest is " + nearest_name(value, known)));
}

// NaN lies in no range.
void expect_within(const char* setting, double value, double low, double high, const char* range) {
  expect(value >= low && value <= high,
         std::string(setting) + " is " + to_text(value) + ": it must be " + range);
}

void expect_numbers(const std::string& prefix, const std::string& of, const Numbers& given,
                    const Numbers& known) {
  std::vector<std::string> names;
  for (const auto& [name, value] : known) names.push_back(name);
  for (const auto& [name, value] : given) {
    expect(known.contains(name), prefix + name + " is no number of " + of + ": " +
                                     (names.empty() ? "it takes none" : "it has " + joined(names)));
    expect(std::isfinite(value), prefix + name + " is " + to_text(value) + ": give a number");
  }
}

template <typename Kind>
const Kind& find_kind(const std::vector<Kind>& kinds, const char* setting,
                      const std::string& name) {
  expect_known(setting, name, names_of(kinds));
  return *std::find_if(kinds.begin(), kinds.end(),
                       [&](const Kind& kind) { return name == kind.name; });
}

void check_loss(const LossParams& loss) {
  const LossKind& kind = find_kind(loss_kinds(), "loss.name", loss.name);
  expect_numbers("loss.", "the loss " + loss.name, loss.numbers, kind.defaults);
  const std::string own_miner = kind.miner;
  if (own_miner.empty()) {
    const std::string takes_none = "the loss " + loss.name + " takes no miner: ";
    expect(loss.miner.empty(), takes_none + "leave out loss.miner");
    expect(loss.miner_numbers.empty(), takes_none + "leave out the settings of miner");
    return;
  }
  const std::string miner = loss.miner.empty() ? own_miner : loss.miner;
  expect_numbers("miner.", "the miner " + miner, loss.miner_numbers,
                 find_kind(miner_kinds(), "loss.miner", miner).defaults);
}

void check_data(const TrainConfig& config) {
  const std::vector<std::string> datasets = names_of(dataset_kinds());
  expect(!config.dataset.name.empty(),
         "no data set is named: set dataset.name to one of " + joined(datasets));
  expect_known("dataset.name", config.dataset.name, datasets);
  expect(!config.dataset.root.empty(),
         "dataset.root is empty: set it to the folder of " + config.dataset.name);
  const AugmentParams& augment = config.augment;
  expect_within("augment.largest_area", augment.largest_area, kAboveZero, 1.0,
                "above 0 and at most 1");
  expect_within("augment.smallest_area", augment.smallest_area, kAboveZero, augment.largest_area,
                "above 0 and at most augment.largest_area");
  expect_within("augment.largest_ratio", augment.largest_ratio, kAboveZero, kNoLimit, "above 0");
  expect_within("augment.smallest_ratio", augment.smallest_ratio, kAboveZero, augment.largest_ratio,
                "above 0 and at most augment.largest_ratio");
  expect_within("augment.flip", augment.flip, 0.0, 1.0, "0 to 1");
}

void check_sampler(const SamplerParams& sampler) {
  expect_known("sampler.name", sampler.name, names_of(sampler_kinds()));
  expect(sampler.batch >= 2, "sampler.batch is " + to_text(sampler.batch) +
                                 ": a batch has 2 images or more (112 is the paper's)");
  if (sampler.name != "m_per_class") return;
  expect(sampler.per_class > 0, "sampler.per_class is 0: it must be 1 or more");
  expect(sampler.batch % sampler.per_class == 0,
         "sampler.batch is " + to_text(sampler.batch) + ", sampler.per_class " +
             to_text(sampler.per_class) + ": use a batch that it divides");
}

// A transformer may also be described in words.
void expect_architecture(const std::string& name) {
  if (name.find(':') == std::string::npos) {
    expect_known("model.architecture", name, architecture_names());
    return;
  }
  try {
    (void)make_architecture(name, StridePlace::in_3x3);
  } catch (const Error& error) {
    throw with_context(error, "model.architecture: ");
  }
}

void check_model(const TrainConfig& config) {
  const ModelParams& model = config.model;
  if (model.weights.empty()) {
    expect_architecture(model.architecture);
  }
  expect(model.dim >= 1 && model.dim <= kMostDimensions,
         "model.dim is " + to_text(model.dim) + ": it must be 1 to " + to_text(kMostDimensions));
  // A size of 0 comes from the weights, which are not loaded yet.
  for (const auto& [name, size] :
       {std::pair{"model.crop", model.crop}, {"model.resize", model.resize}}) {
    expect(size == 0 || (size >= kFewestPixels && size <= kMostPixels),
           std::string(name) + " is " + to_text(size) + ": it must be " + to_text(kFewestPixels) +
               " to " + to_text(kMostPixels) + ", or 0 for the weights' own");
  }
  expect(model.crop == 0 || model.resize == 0 || model.crop <= model.resize,
         "model.crop is " + to_text(model.crop) + ", model.resize " + to_text(model.resize) +
             ": a crop lies within the photo");
  expect_within("model.drop_path", model.drop_path, 0.0, kBelowOne, "at least 0 and below 1");
  expect(config.grid >= 1 && config.grid <= kLargestGrid,
         "grid is " + to_text(config.grid) + ": it must be 1 to " + to_text(kLargestGrid));
  check_params(config.measure.match.transport);
  expect_available(config.measure.backend);  // throws where it cannot be used here
}

void check_schedule(const TrainConfig& config) {
  const ScheduleParams& schedule = config.schedule;
  expect_known("schedule.name", schedule.name, kSchedules);
  expect(schedule.warm_up_epochs <= config.epochs,
         "schedule.warm_up_epochs is " + to_text(schedule.warm_up_epochs) + ", epochs " +
             to_text(config.epochs) + ": warm up for fewer epochs");
  const std::vector<std::size_t>& steps = schedule.steps;
  expect(schedule.name != "step" || !steps.empty(),
         "schedule.name is step, schedule.steps is empty: set it, as in 50,100");
  expect(schedule.name == "step" || steps.empty(),
         "schedule.steps are set, schedule.name is " + schedule.name + ": set it to step");
  const bool rise =
      std::adjacent_find(steps.begin(), steps.end(), std::greater_equal<>()) == steps.end();
  expect(rise && (steps.empty() || steps[0] > 0),
         "schedule.steps are " + to_text(steps) + ": they must rise, from 1 on");
  expect_within("schedule.gamma", schedule.gamma, kAboveZero, kNoLimit, "above 0");
}

void check_optimiser(const TrainConfig& config) {
  const OptimiserParams& optimiser = config.optimiser;
  expect_known("optimiser.name", optimiser.name, kOptimisers);
  struct Range {
    const char* setting;
    double value;
    double low;
    double high;
    const char* text;
  };
  const std::array ranges = {
      Range{"optimiser.learning_rate", optimiser.learning_rate, kAboveZero, kNoLimit, "above 0"},
      Range{"optimiser.projection_rate", config.projection_rate, 0.0, kNoLimit,
            "above 0, or 0 for that of the backbone"},
      Range{"optimiser.layer_decay", config.layer_decay, kAboveZero, 1.0, "above 0 and at most 1"},
      Range{"optimiser.weight_decay", optimiser.weight_decay, 0.0, kNoLimit, "0 or more"},
      Range{"optimiser.momentum", optimiser.momentum, 0.0, kBelowOne, "at least 0 and below 1"},
      Range{"optimiser.beta1", optimiser.beta1, 0.0, kBelowOne, "at least 0 and below 1"},
      Range{"optimiser.beta2", optimiser.beta2, 0.0, kBelowOne, "at least 0 and below 1"},
      Range{"optimiser.epsilon", optimiser.epsilon, kAboveZero, kNoLimit, "above 0"},
      Range{"optimiser.clip", config.clip, 0.0, kNoLimit, "above 0, or 0 for no limit"},
      Range{"ema", config.ema, 0.0, kBelowOne, "at least 0 and below 1"},
  };
  for (const Range& range : ranges) {
    expect_within(range.setting, range.value, range.low, range.high, range.text);
  }
}

bool is_device(std::string_view name) {
  if (name == "cpu" || name == "cuda") return true;
  unsigned char number = 0;  // torch counts devices in 8 bits
  return name.starts_with("cuda:") && from_text(name.substr(5), number) && number < 128;
}

}  // namespace

void check(const TrainConfig& config) {
  check_data(config);
  check_model(config);
  check_loss(config.loss);
  check_sampler(config.sampler);
  expect(config.epochs > 0, "epochs is 0: it must be 1 or more (150 is the paper's)");
  check_optimiser(config);
  check_schedule(config);
  expect(config.evaluate.every > 0, "evaluate.every is 0: it must be 1 or more epochs");
  expect(!config.evaluate.rerank.empty(),
         "evaluate.rerank is empty: 0 evaluates without re-ranking, 0,100 both ways");
  expect_known("evaluate.select", config.evaluate.select, kSelections);
  expect(config.evaluate.patience == 0 || config.evaluate.select != "last",
         "evaluate.patience is set, evaluate.select is last: patience needs select test or val");
  expect(config.checkpoint_epochs > 0, "checkpoint_epochs is 0: it must be 1 or more");
  expect(is_device(config.device),
         "device cannot be '" + config.device + "': there are cpu, cuda and cuda:1 (any number)");
  expect(config.threads >= 0,
         "threads is " + to_text(config.threads) + ": it must be 0 (all cores) or more");
}

}  // namespace diml::training
