#include "diml/embedding.h"

#include <charconv>
#include <cmath>
#include <functional>
#include <vector>

#include "diml/error.h"

namespace diml {
namespace {

std::string text_of(double value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);  // reads back as it was
  return {digits, end.ptr};
}

template <class Number>
Number number_from(const std::string& name, const std::string& text) {
  Number value{};
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) {
    throw Error(ErrorKind::damaged,
                "the calibration's " + name + " is '" + text + "', not a number");
  }
  return value;
}

// The names of the metadata, in groups with others: all begin alike.
const std::string kPrefix = "calibration.";

struct Field {
  const char* name;
  std::function<std::string(const Calibration&)> get;
  std::function<void(Calibration&, const std::string&)> set;
};

template <class Value>
Field field(const char* name, Value Calibration::*member) {
  if constexpr (std::is_same_v<Value, std::string>) {
    return {name, [member](const Calibration& c) { return c.*member; },
            [member](Calibration& c, const std::string& text) { c.*member = text; }};
  } else {
    return {name,
            [member](const Calibration& c) {
              if constexpr (std::is_floating_point_v<Value>) return text_of(c.*member);
              return std::to_string(c.*member);
            },
            [name, member](Calibration& c, const std::string& text) {
              c.*member = number_from<Value>(name, text);
            }};
  }
}

const std::vector<Field>& fields() {
  using C = Calibration;
  static const std::vector<Field> all = {field("grid", &C::grid),
                                         field("lambda", &C::lambda),
                                         field("structural_weight", &C::structural_weight),
                                         field("rerank", &C::rerank),
                                         field("criterion", &C::criterion),
                                         field("value", &C::value),
                                         field("paper", &C::paper),
                                         field("gain_error", &C::gain_error),
                                         field("images", &C::images),
                                         field("classes", &C::classes),
                                         field("folds", &C::folds),
                                         field("data", &C::data)};
  return all;
}

void check(const Calibration& calibration) {
  const auto within = [](double value, double least, double most) {
    return value >= least && value <= most;
  };
  if (within(static_cast<double>(calibration.grid), 1, 14) &&
      within(calibration.lambda, 1e-3, 10.0) &&
      within(calibration.structural_weight, 0.0, 1000.0)) {
    return;
  }
  throw Error(ErrorKind::damaged,
              "the calibration is out of range: " + setting_text(calibration) +
                  "; calibrate the model again",
              "calibrate");
}

}  // namespace

std::map<std::string, std::string> to_text(const Calibration& calibration) {
  std::map<std::string, std::string> text;
  for (const Field& one : fields()) text[kPrefix + one.name] = one.get(calibration);
  return text;
}

std::optional<Calibration> calibration_from(const std::map<std::string, std::string>& text) {
  if (!text.contains(kPrefix + "lambda")) return {};
  Calibration calibration;
  for (const Field& one : fields()) {
    const auto found = text.find(kPrefix + one.name);
    if (found != text.end()) one.set(calibration, found->second);
  }
  check(calibration);
  return calibration;
}

std::string setting_text(const Calibration& calibration) {
  return "grid " + std::to_string(calibration.grid) + ", lambda " + text_of(calibration.lambda) +
         ", structural weight " + text_of(calibration.structural_weight) + ", K " +
         std::to_string(calibration.rerank);
}

}  // namespace diml
