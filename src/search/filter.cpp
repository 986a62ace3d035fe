#include <algorithm>

#include "condition.h"
#include "diml/error.h"
#include "diml/searcher.h"

namespace diml {
namespace {

// Different for conditions that admit different items: every text comes after its length.
std::string key_of(const Condition& condition) {
  const auto part = [](const std::string& text) {
    return std::to_string(text.size()) + ":" + text;
  };
  std::string key = std::to_string(static_cast<int>(condition.field)) + "/" +
                    std::to_string(static_cast<int>(condition.relation)) + "/" +
                    part(condition.key) + std::to_string(condition.operands.size()) + "/";
  for (const Operand& operand : condition.operands) key += part(operand.text);
  return key;
}

}  // namespace

Filter::Filter(std::span<const std::string> conditions) {
  for (const std::string& text : conditions) append(condition_from(text), text);
}

void Filter::append(Condition condition, const std::string& text) {
  key_ += key_of(condition);
  auto all = std::make_shared<std::vector<Condition>>();
  if (conditions_) *all = *conditions_;
  all->push_back(std::move(condition));
  conditions_ = std::move(all);
  text_ += (text_.empty() ? "" : " and ") + text;
}

Filter Filter::with_path_part(const std::string& part) const {
  Filter with = *this;
  with.append({ConditionField::path, "", Relation::contains, {{part, {}}}},
              "path contains '" + part + "'");
  return with;
}

Filter Filter::with_label(const std::string& label) const {
  Filter with = *this;
  if (label.empty()) {
    with.append({ConditionField::label, "", Relation::missing, {}}, "label missing");
  } else {
    with.append({ConditionField::label, "", Relation::equal, {{label, {}}}}, "label=" + label);
  }
  return with;
}

std::span<const Condition> Filter::conditions() const {
  return conditions_ ? std::span<const Condition>(*conditions_) : std::span<const Condition>();
}

bool Filter::admits(const Item& item) const {
  if (empty()) return true;
  bool has_metadata = false;
  for (const Condition& condition : *conditions_) {
    if (condition.field == ConditionField::metadata) {
      has_metadata = true;
    } else if (!holds(condition,
                      condition.field == ConditionField::label ? item.label : item.path)) {
      return false;
    }
  }
  if (!has_metadata) return true;  // it need not be read
  try {
    return hold_in_metadata(*conditions_, item.metadata);
  } catch (const Error& error) {
    throw with_context(error, "item " + std::to_string(item.id) + " ");
  }
}

}  // namespace diml
