#include "training/train_config.h"

#include "base/nearest_name.h"
#include "base/setting_text.h"
#include "diml/error.h"
#include "train_settings.h"

namespace diml::training {
namespace {

using namespace learn;  // the parts of a configuration that losses, measures and samplers take

template <typename Enum>
requires std::is_enum_v<Enum> std::string to_text(Enum value) { return name_of(value); }

// These throw, with the known names. The second argument says which enumeration is meant.
MeasureKind named(std::string_view text, MeasureKind) { return measure_kind_from(text); }
PlanGradient named(std::string_view text, PlanGradient) { return plan_gradient_from(text); }
MarginalRule named(std::string_view text, MarginalRule) { return marginal_rule_from(text); }
Backend named(std::string_view text, Backend) { return backend_from(text); }
PoolingRule named(std::string_view text, PoolingRule) { return pooling_rule_from(text); }
Precision named(std::string_view text, Precision) { return precision_from(text); }

template <typename Enum>
requires std::is_enum_v<Enum>
bool from_text(std::string_view text, Enum& value) {
  value = named(text, value);
  return true;
}

// The overloads of setting_text.h beside those above.
using text::from_text;
using text::kind_of;
using text::to_text;

// Messages are one line for any input.
std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return line;
}

[[noreturn]] void refuse(std::string_view name, std::string_view value, const char* takes,
                         const std::string& example) {
  std::string message =
      std::string(name) + " cannot be '" + one_line(value) + "': it takes " + takes;
  if (!example.empty()) message += ", such as " + example;
  throw Error(message);
}

template <typename Object, typename First, typename... Rest>
auto& follow(Object& object, First first, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return object.*first;
  } else {
    return follow(object.*first, rest...);
  }
}

// path: member by member, from the config to the field.
template <typename... Path>
Setting field(const char* name, Path... path) {
  using Field = std::remove_reference_t<decltype(follow(std::declval<TrainConfig&>(), path...))>;
  SettingKind kind = SettingKind::value;
  if constexpr (std::same_as<Field, std::string>) kind = SettingKind::text;
  if constexpr (std::same_as<Field, std::vector<std::size_t>>) kind = SettingKind::list;
  return {name, kind, [=](const TrainConfig& config) { return to_text(follow(config, path...)); },
          [=](TrainConfig& config, std::string_view text) {
            Field& value = follow(config, path...);
            if (from_text(text, value)) return;
            const TrainConfig defaults;
            refuse(name, text, kind_of(value), to_text(follow(defaults, path...)));
          }};
}

// Every number of a family of losses or miners, with the default of the first entry that has
// it.
template <typename Kinds>
Numbers numbers_of(const Kinds& kinds) {
  Numbers all;
  for (const auto& kind : kinds) all.insert(kind.defaults.begin(), kind.defaults.end());
  return all;
}

// A number of any loss is accepted for any loss: the loss may be set later.
// check() refuses numbers that do not fit.
bool set_number(std::string_view name, std::string_view value, std::string_view prefix,
                const Numbers& known, Numbers& numbers) {
  if (!name.starts_with(prefix)) return false;
  const auto found = known.find(std::string(name.substr(prefix.size())));
  if (found == known.end()) return false;
  double number = 0.0;
  if (!from_text(value, number)) refuse(name, value, kind_of(number), to_text(found->second));
  numbers[found->first] = number;
  return true;
}

constexpr std::string_view kOfLoss = "loss.";
constexpr std::string_view kOfMiner = "miner.";

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const Setting& setting : setting_table()) names.emplace_back(setting.name);
  const auto add = [&](std::string_view prefix, const Numbers& numbers) {
    for (const auto& [name, value] : numbers) names.push_back(std::string(prefix) + name);
  };
  add(kOfLoss, numbers_of(loss_kinds()));
  add(kOfMiner, numbers_of(miner_kinds()));
  return names;
}

}  // namespace

const std::vector<Setting>& setting_table() {
  using C = TrainConfig;
  using Transport = TransportParams;
  static const std::vector<Setting> table = {
      field("dataset.name", &C::dataset, &DatasetParams::name),
      field("dataset.root", &C::dataset, &DatasetParams::root),
      field("dataset.skip_bad", &C::dataset, &DatasetParams::skip_bad),
      field("model.weights", &C::model, &ModelParams::weights),
      field("model.architecture", &C::model, &ModelParams::architecture),
      field("model.dim", &C::model, &ModelParams::dim),
      field("model.resize", &C::model, &ModelParams::resize),
      field("model.crop", &C::model, &ModelParams::crop),
      field("model.drop_path", &C::model, &ModelParams::drop_path),
      field("loss.name", &C::loss, &LossParams::name),
      field("loss.miner", &C::loss, &LossParams::miner),
      field("measure.kind", &C::measure, &MeasureParams::kind),
      field("measure.plan_gradient", &C::measure, &MeasureParams::plan_gradient),
      field("measure.marginals", &C::measure, &MeasureParams::match, &MatchParams::marginals),
      field("measure.lambda", &C::measure, &MeasureParams::match, &MatchParams::transport,
            &Transport::lambda),
      field("measure.tolerance", &C::measure, &MeasureParams::match, &MatchParams::transport,
            &Transport::tolerance),
      field("measure.max_iterations", &C::measure, &MeasureParams::match, &MatchParams::transport,
            &Transport::max_iterations),
      field("measure.matcher", &C::measure, &MeasureParams::backend),
      field("grid", &C::grid),
      field("pooling", &C::pooling),
      field("sampler.name", &C::sampler, &SamplerParams::name),
      field("sampler.batch", &C::sampler, &SamplerParams::batch),
      field("sampler.per_class", &C::sampler, &SamplerParams::per_class),
      field("optimiser.name", &C::optimiser, &OptimiserParams::name),
      field("optimiser.learning_rate", &C::optimiser, &OptimiserParams::learning_rate),
      field("optimiser.projection_rate", &C::projection_rate),
      field("optimiser.layer_decay", &C::layer_decay),
      field("optimiser.weight_decay", &C::optimiser, &OptimiserParams::weight_decay),
      field("optimiser.momentum", &C::optimiser, &OptimiserParams::momentum),
      field("optimiser.beta1", &C::optimiser, &OptimiserParams::beta1),
      field("optimiser.beta2", &C::optimiser, &OptimiserParams::beta2),
      field("optimiser.epsilon", &C::optimiser, &OptimiserParams::epsilon),
      field("optimiser.clip", &C::clip),
      field("ema", &C::ema),
      field("schedule.name", &C::schedule, &ScheduleParams::name),
      field("schedule.warm_up_epochs", &C::schedule, &ScheduleParams::warm_up_epochs),
      field("schedule.steps", &C::schedule, &ScheduleParams::steps),
      field("schedule.gamma", &C::schedule, &ScheduleParams::gamma),
      field("augment.smallest_area", &C::augment, &AugmentParams::smallest_area),
      field("augment.largest_area", &C::augment, &AugmentParams::largest_area),
      field("augment.smallest_ratio", &C::augment, &AugmentParams::smallest_ratio),
      field("augment.largest_ratio", &C::augment, &AugmentParams::largest_ratio),
      field("augment.flip", &C::augment, &AugmentParams::flip),
      field("evaluate.every", &C::evaluate, &ValidationParams::every),
      field("evaluate.rerank", &C::evaluate, &ValidationParams::rerank),
      field("evaluate.precision", &C::evaluate, &ValidationParams::precision),
      field("evaluate.patience", &C::evaluate, &ValidationParams::patience),
      field("evaluate.select", &C::evaluate, &ValidationParams::select),
      field("epochs", &C::epochs),
      field("seed", &C::seed),
      field("device", &C::device),
      field("precision", &C::precision),
      field("threads", &C::threads),
      field("cache_mb", &C::cache_mb),
      field("checkpoint_epochs", &C::checkpoint_epochs),
      field("checkpoint_steps", &C::checkpoint_steps),
  };
  return table;
}

SettingKind kind_of_setting(std::string_view name) {
  for (const Setting& setting : setting_table()) {
    if (name == setting.name) return setting.kind;
  }
  return SettingKind::value;  // a number of a loss or a miner
}

bool is_group(std::string_view name) {
  const std::string prefix = std::string(name) + ".";
  for (const std::string& known : known_names()) {
    if (known.starts_with(prefix)) return true;
  }
  return false;
}

void set(TrainConfig& config, std::string_view name, std::string_view value) {
  for (const Setting& setting : setting_table()) {
    if (name == setting.name) return setting.write(config, value);
  }
  LossParams& loss = config.loss;
  if (set_number(name, value, kOfLoss, numbers_of(loss_kinds()), loss.numbers)) return;
  if (set_number(name, value, kOfMiner, numbers_of(miner_kinds()), loss.miner_numbers)) return;
  throw Error("there is no setting '" + one_line(name) + "': the nearest is " +
              nearest_name(name, known_names()));
}

std::vector<std::pair<std::string, std::string>> settings_of(const TrainConfig& config) {
  std::vector<std::pair<std::string, std::string>> settings;
  const auto add = [&](std::string_view prefix, const Numbers& numbers) {
    for (const auto& [name, value] : numbers) {
      settings.emplace_back(std::string(prefix) + name, to_text(value));
    }
  };
  for (const Setting& setting : setting_table()) {
    settings.emplace_back(setting.name, setting.read(config));
    if (std::string_view(setting.name) == "loss.miner") {
      add(kOfLoss, config.loss.numbers);
      add(kOfMiner, config.loss.miner_numbers);
    }
  }
  return settings;
}

}  // namespace diml::training
