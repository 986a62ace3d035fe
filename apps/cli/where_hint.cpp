#include "where_hint.h"

#include <algorithm>
#include <set>

#include "base/nearest_name.h"
#include "base/shown_text.h"
#include "search/admitted_items.h"
#include "search/condition.h"

namespace diml::cli {
namespace {

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string hint_of_label(const Condition& condition, const GridSnapshot& snapshot) {
  std::set<std::string, std::less<>> labels;
  snapshot.visit(0, [&](std::int64_t, std::string_view label, const void*) {
    if (!labels.contains(label)) labels.emplace(label);
    return true;
  });
  labels.erase("");
  const auto is_there = [&](const Operand& one) { return labels.contains(one.text); };
  if (std::any_of(condition.operands.begin(), condition.operands.end(), is_there)) return "";
  if (labels.empty()) return ": no image has a label";
  const std::string& wanted = condition.operands.front().text;
  const std::vector<std::string> known(labels.begin(), labels.end());
  std::vector<std::string> folded;
  for (const std::string& one : known) folded.push_back(lower(one));
  const std::string nearest = nearest_name(lower(wanted), folded);
  std::string text = ": there is no label " + shown(wanted);
  if (is_like(lower(wanted), nearest)) {
    const auto place = std::find(folded.begin(), folded.end(), nearest) - folded.begin();
    return text + ", the nearest is " + shown(known[static_cast<std::size_t>(place)]);
  }
  constexpr std::size_t kShown = 5;
  for (std::size_t k = 0; k < std::min(kShown, known.size()); ++k) {
    text += (k == 0 ? "; there are " : ", ") + shown(known[k]);
  }
  if (known.size() > kShown) text += " and " + std::to_string(known.size() - kShown) + " more";
  return text;
}

std::string hint_of_field(const Condition& condition, const GridSnapshot& snapshot) {
  const std::vector<std::string> exists = {condition.key + " exists"};
  const IdList having = AdmittedItems().of(Filter(exists), snapshot);
  if (!having || !having->empty()) return "";
  std::string text = ": no image has " + shown(condition.key) + " in its metadata";
  for (const char* known : {"label", "path"}) {
    if (is_like(lower(condition.key), known)) text += std::string(" (did you mean ") + known + "?)";
  }
  return text;
}

}  // namespace

std::string hint_of_conditions(const Filter& filter, const GridSnapshot& snapshot) {
  for (const Condition& condition : filter.conditions()) {
    std::string hint;
    if (condition.field == ConditionField::label && condition.relation == Relation::equal) {
      hint = hint_of_label(condition, snapshot);
    } else if (condition.field == ConditionField::metadata &&
               condition.relation != Relation::missing && condition.relation != Relation::unequal) {
      hint = hint_of_field(condition, snapshot);
    }
    if (!hint.empty()) return hint;
  }
  return "";
}

}  // namespace diml::cli
