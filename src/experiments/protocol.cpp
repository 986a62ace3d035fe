#include "protocol.h"

#include <algorithm>
#include <functional>

#include "base/nearest_name.h"
#include "base/setting_text.h"
#include "diml/candidates.h"
#include "diml/error.h"
#include "diml/transport.h"
#include "explain/part_truth.h"
#include "models/model.h"

namespace diml::experiments {
namespace {

using text::from_text;
using text::kind_of;
using text::to_text;

std::string to_text(const std::optional<std::size_t>& value) {
  return value ? to_text(*value) : "";
}
bool from_text(const std::string& text, std::optional<std::size_t>& value) {
  value.reset();
  return text.empty() || from_text(text, value.emplace());
}
const char* kind_of(const std::optional<std::size_t>& /*value*/) { return kind_of(std::size_t{}); }

const char* name_of(EvaluationSplit split) {
  return split == EvaluationSplit::test ? "test" : "val";
}
EvaluationSplit evaluation_split_from(std::string_view name) {
  if (name == "test") return EvaluationSplit::test;
  if (name == "val") return EvaluationSplit::val;
  throw Error("split cannot be '" + std::string(name) + "': there are test and val");
}

struct Field {
  std::string name;
  std::string kind;  // of value
  std::function<bool(Protocol&, const std::string&)> set;
  std::function<std::string(const Protocol&)> get;
};

template <typename Value>
Field field(const char* name, Value Protocol::*member) {
  return {name, kind_of(Value{}),
          [=](Protocol& protocol, const std::string& value) {
            return from_text(value, protocol.*member);
          },
          [=](const Protocol& protocol) { return to_text(protocol.*member); }};
}

// value_of throws on unknown names.
template <typename Enum>
Field field(const char* name, Enum Protocol::*member, const char* (*text_of)(Enum),
            Enum (*value_of)(std::string_view)) {
  return {name, "",
          [=](Protocol& protocol, const std::string& value) {
            protocol.*member = value_of(value);
            return true;
          },
          [=](const Protocol& protocol) { return text_of(protocol.*member); }};
}

const std::vector<Field>& fields() {
  using P = Protocol;
  static const std::vector<Field> all = {
      field("split", &P::split, name_of, evaluation_split_from),
      field("grid", &P::grid),
      field("pooling", &P::pooling, diml::name_of, pooling_rule_from),
      field("resize", &P::resize),
      field("crop", &P::crop),
      field("marginals", &P::marginals, diml::name_of, marginal_rule_from),
      field("lambda", &P::lambda),
      // All of the mass is not written: results from before there was a choice keep their settings.
      {"mass", kind_of(double{}),
       [](P& protocol, const std::string& value) { return from_text(value, protocol.mass); },
       [](const P& protocol) {
         return protocol.mass == 1.0 ? std::string() : to_text(protocol.mass);
       }},
      field("rerank", &P::rerank),
      field("cut_from", &P::cut_from),
      field("global_weight", &P::global_weight),
      field("structural_weight", &P::structural_weight),
      field("setting", &P::setting),
      field("method", &P::method)};
  return all;
}

}  // namespace

void set(Protocol& protocol, const std::string& name, const std::string& value) {
  std::vector<std::string> known;
  for (const Field& one : fields()) {
    known.push_back(one.name);
    if (one.name != name) continue;
    if (one.set(protocol, value)) return;
    const std::string example = one.get(Protocol{});
    throw Error(name + " cannot be '" + value + "': it takes " + one.kind + ", such as " +
                (!example.empty() ? example
                 : name == "mass" ? "0.8"
                                  : "256"));
  }
  throw Error("a column has no '" + name + "': the nearest is " + nearest_name(name, known));
}

void check(const Protocol& protocol, MetricFamily metric_family) {
  constexpr std::size_t kLargestGrid = 32;  // no feature map is larger
  if (protocol.grid < 1 || protocol.grid > kLargestGrid) {
    throw Error("grid is " + to_text(protocol.grid) + ": it must be 1 to " + to_text(kLargestGrid));
  }
  if (!protocol.setting.empty() && protocol.setting != kCalibrated &&
      protocol.setting != kCalibratedHeldOut) {
    throw Error("setting is '" + protocol.setting + "': it is " + kCalibrated + " or " +
                kCalibratedHeldOut + ", or left out");
  }
  if (!protocol.setting.empty() &&
      (metric_family == MetricFamily::parts || protocol.cut_from > 0)) {
    throw Error(
        "a calibrated setting is for the ranking without a cut: leave setting or cut_from out");
  }
  TransportParams transport;
  transport.lambda = protocol.lambda;
  transport.mass = protocol.mass;
  check_params(transport);
  if (protocol.cut_from > 0 && protocol.cut_from < protocol.rerank) {
    throw Error("cut_from is " + to_text(protocol.cut_from) + ", rerank " +
                to_text(protocol.rerank) + ": cut_from must be at least rerank");
  }
  diml::check(ScoreWeights{static_cast<float>(protocol.global_weight),
                           static_cast<float>(protocol.structural_weight)});
  // Where one of the two comes from the weights, assume one that fits the other.
  Preprocessing sizes;
  if (protocol.crop) sizes.crop = *protocol.crop;
  sizes.resize = protocol.resize.value_or(std::max(sizes.resize, sizes.crop));
  if (!protocol.crop) sizes.crop = std::min(sizes.crop, sizes.resize);
  diml::check(sizes);
  if (metric_family != MetricFamily::parts) return;
  const std::vector<std::string> methods = part_method_names();
  if (std::find(methods.begin(), methods.end(), protocol.method) != methods.end()) return;
  std::string known;
  for (const std::string& name : methods) known += (known.empty() ? "'" : ", '") + name + "'";
  throw Error("there is no method '" + protocol.method + "': take one of " + known);
}

Settings settings_of(const Protocol& protocol) {
  Settings settings;
  for (const Field& one : fields()) {
    if (std::string text = one.get(protocol); !text.empty()) settings[one.name] = std::move(text);
  }
  return settings;
}

Protocol protocol_from(const Settings& settings) {
  Protocol protocol;
  for (const auto& [name, value] : settings) set(protocol, name, value);
  return protocol;
}

}  // namespace diml::experiments
