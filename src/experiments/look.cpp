#include "look.h"

#include <functional>

#include "../base/setting_text.h"
#include "diml/error.h"
#include "diml/nearest_name.h"

namespace diml::experiments {
namespace {

struct Field {
  std::string name;
  std::function<bool(Look&, const std::string&)> set;
  std::function<std::string(const Look&)> get;
};

template <typename Value>
Field field(const char* name, Value Look::*member) {
  return {
      name,
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

[[noreturn]] void refuse(const std::string& name, const std::string& value,
                         const std::string& example) {
  throw Error(name + " cannot be '" + value + "': it takes a number, such as " + example);
}

}  // namespace

void set(Look& look, const std::string& name, const std::string& value) {
  std::vector<std::string> known;
  for (const Field& one : fields()) {
    known.push_back(one.name);
    if (one.name != name) continue;
    if (!one.set(look, value)) refuse(name, value, one.get(Look{}));
    if (name == "split" && value != "test" && value != "val") {
      throw Error("split cannot be '" + value + "': there are test and val");
    }
    return;
  }
  throw Error("a column has no '" + name + "': the nearest is " + nearest_name(name, known));
}

Settings settings_of(const Look& look) {
  Settings settings;
  for (const Field& one : fields()) {
    if (std::string text = one.get(look); !text.empty()) settings[one.name] = std::move(text);
  }
  return settings;
}

}  // namespace diml::experiments
