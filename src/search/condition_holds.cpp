// Whether a condition holds for a label, a path or the metadata of an item.

#include <algorithm>

#include "base/lower_case.h"
#include "condition.h"
#include "diml/error.h"
#if DIML_HAS_JSON
#include "json_tree.h"
#endif

namespace diml {
namespace {

template <class Value>
bool is_ordered(Relation relation, const Value& value, const Value& operand) {
  switch (relation) {
    case Relation::less:
      return value < operand;
    case Relation::at_most:
      return value <= operand;
    case Relation::more:
      return value > operand;
    case Relation::at_least:
      return value >= operand;
    default:
      return false;
  }
}

// Numbers are ordered as numbers, texts (dates as 2024-05-31) letter by letter. A text and a number
// have no order: "unknown" is neither below nor above 20.
bool is_ordered(const Condition& condition, const std::string& text) {
  const Operand& operand = condition.operands[0];
  if (!operand.number) return is_ordered(condition.relation, text, operand.text);
  const std::optional<long double> number = number_in(text);
  return number && is_ordered(condition.relation, *number, *operand.number);
}

bool is_one_of(const Condition& condition, const std::string& text) {
  return std::any_of(condition.operands.begin(), condition.operands.end(),
                     [&](const Operand& operand) { return operand.text == text; });
}

bool contains(const std::string& text, const std::string& part) {
  const auto same = [](char x, char y) { return lower_case(x) == lower_case(y); };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

#if DIML_HAS_JSON

using Json = nlohmann::json;

// The value of a key; null where it is missing. A key may itself have dots, so that the longest
// that is there counts first.
const Json* value_at(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  for (std::size_t end = key.size(); end != std::string_view::npos && end > 0;
       end = key.rfind('.', end - 1)) {
    const auto found = object.find(std::string(key.substr(0, end)));
    if (found == object.end()) continue;
    if (end == key.size()) return found->is_null() ? nullptr : &*found;
    if (const Json* inner = value_at(*found, key.substr(end + 1))) return inner;
  }
  return nullptr;
}

long double number_of(const Json& json) {
  if (json.is_number_unsigned()) return static_cast<long double>(json.get<std::uint64_t>());
  if (json.is_number_integer()) return static_cast<long double>(json.get<std::int64_t>());
  return static_cast<long double>(json.get<double>());
}

// Of one value: a text, a number, true or false.
bool scalar_satisfies(const Condition& condition, const Json& value) {
  const bool is_equality =
      condition.relation == Relation::equal || condition.relation == Relation::unequal;
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return is_equality ? is_one_of(condition, text) : is_ordered(condition, text);
  }
  if (value.is_boolean()) {
    return is_equality && is_one_of(condition, value.get<bool>() ? "true" : "false");
  }
  if (!value.is_number()) return false;
  const long double number = number_of(value);
  return std::any_of(condition.operands.begin(), condition.operands.end(),
                     [&](const Operand& operand) {
                       if (!operand.number) return false;
                       return is_equality ? number == *operand.number
                                          : is_ordered(condition.relation, number, *operand.number);
                     });
}

// A list satisfies what one of its values satisfies.
bool satisfies(const Condition& condition, const Json& value) {
  if (!value.is_array()) return scalar_satisfies(condition, value);
  return std::any_of(value.begin(), value.end(),
                     [&](const Json& one) { return scalar_satisfies(condition, one); });
}

bool holds(const Condition& condition, const Json& metadata) {
  const Json* value = value_at(metadata, condition.key);
  if (condition.relation == Relation::exists) return value != nullptr;
  if (condition.relation == Relation::missing) return value == nullptr;
  const bool found = value != nullptr && satisfies(condition, *value);
  return condition.relation == Relation::unequal ? !found : found;
}

#endif

}  // namespace

bool holds(const Condition& condition, const std::string& text) {
  switch (condition.relation) {
    case Relation::equal:
      return is_one_of(condition, text);
    case Relation::unequal:
      return !is_one_of(condition, text);
    case Relation::exists:
      return !text.empty();
    case Relation::missing:
      return text.empty();
    case Relation::contains:
      return contains(text, condition.operands[0].text);
    default:
      return !text.empty() && is_ordered(condition, text);
  }
}

bool hold_in_metadata([[maybe_unused]] const std::vector<Condition>& conditions,
                      [[maybe_unused]] const std::string& metadata) {
#if DIML_HAS_JSON
  const JsonTree tree = JsonTree::parse_or_discard(metadata);
  const Json& json = tree.root();
  if (json.is_discarded()) throw Error(ErrorKind::damaged, "has metadata that is not JSON");
  return std::all_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
    return condition.field != ConditionField::metadata || holds(condition, json);
  });
#else
  return false;  // there are no such conditions: condition_from() refuses them
#endif
}

}  // namespace diml
