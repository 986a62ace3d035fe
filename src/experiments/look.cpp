#include "look.h"

#include <algorithm>
#include <functional>

#include "base/nearest_name.h"
#include "base/setting_text.h"
#include "diml/error.h"
#include "diml/grid_pooling.h"
#include "diml/marginals.h"
#include "diml/model.h"
#include "diml/part_truth.h"
#include "diml/rank.h"
#include "diml/transport.h"

namespace diml::experiments {
namespace {

struct Field {
  std::string name;
  std::string kind;  // of value
  std::function<bool(Look&, const std::string&)> set;
  std::function<std::string(const Look&)> get;
};

template <typename Value>
Field field(const char* name, Value Look::*member) {
  return {
      name, text::kind_of(Value{}),
      [=](Look& look, const std::string& value) { return text::from_text(value, look.*member); },
      [=](const Look& look) { return text::to_text(look.*member); }};
}

const std::vector<Field>& fields() {
  static const std::vector<Field> all = {field("split", &Look::split),
                                         field("grid", &Look::grid),
                                         field("pooling", &Look::pooling),
                                         field("resize", &Look::resize),
                                         field("crop", &Look::crop),
                                         field("marginals", &Look::marginals),
                                         field("lambda", &Look::lambda),
                                         field("rerank", &Look::rerank),
                                         field("cut_from", &Look::cut_from),
                                         field("global_weight", &Look::global_weight),
                                         field("structural_weight", &Look::structural_weight),
                                         field("method", &Look::method)};
  return all;
}

[[noreturn]] void refuse(const std::string& name, const std::string& value, const std::string& kind,
                         const std::string& example) {
  throw Error(name + " cannot be '" + value + "': it takes " + kind + ", such as " + example);
}

std::size_t pixels(const std::string& name, const std::string& text) {
  std::size_t value = 0;
  if (!text::from_text(text, value)) refuse(name, text, text::kind_of(value), "256");
  return value;
}

}  // namespace

void set(Look& look, const std::string& name, const std::string& value) {
  std::vector<std::string> known;
  for (const Field& one : fields()) {
    known.push_back(one.name);
    if (one.name != name) continue;
    if (!one.set(look, value)) refuse(name, value, one.kind, one.get(Look{}));
    if (name == "split" && value != "test" && value != "val") {
      throw Error("split cannot be '" + value + "': there are test and val");
    }
    return;
  }
  throw Error("a column has no '" + name + "': the nearest is " + nearest_name(name, known));
}

void check(const Look& look, Quantity quantity) {
  constexpr std::size_t kLargestGrid = 32;  // no map of ours has more places
  if (look.grid < 1 || look.grid > kLargestGrid) {
    throw Error("grid is " + text::to_text(look.grid) + ": it must be 1 to " +
                text::to_text(kLargestGrid));
  }
  pooling_rule_from(look.pooling);
  marginal_rule_from(look.marginals);
  TransportParams transport;
  transport.lambda = look.lambda;
  check_params(transport);
  if (look.cut_from > 0 && look.cut_from < look.rerank) {
    throw Error("cut_from is " + text::to_text(look.cut_from) + ", rerank " +
                text::to_text(look.rerank) + ": a list is cut where it was re-ranked");
  }
  diml::check(ScoreWeights{static_cast<float>(look.global_weight),
                           static_cast<float>(look.structural_weight)});
  // Where one of them is the weights' own it has to be large or small enough for the other.
  Preprocessing seen;
  if (!look.crop.empty()) seen.crop = pixels("crop", look.crop);
  seen.resize =
      look.resize.empty() ? std::max(seen.resize, seen.crop) : pixels("resize", look.resize);
  if (look.crop.empty()) seen.crop = std::min(seen.crop, seen.resize);
  diml::check(seen);
  if (quantity != Quantity::parts) return;
  const std::vector<std::string> methods = part_method_names();
  if (std::find(methods.begin(), methods.end(), look.method) != methods.end()) return;
  std::string known;
  for (const std::string& name : methods) known += (known.empty() ? "'" : ", '") + name + "'";
  throw Error("there is no method '" + look.method + "': take one of " + known);
}

Settings settings_of(const Look& look) {
  Settings settings;
  for (const Field& one : fields()) {
    if (std::string text = one.get(look); !text.empty()) settings[one.name] = std::move(text);
  }
  return settings;
}

}  // namespace diml::experiments
