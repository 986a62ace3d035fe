#include "filter_sql.h"

#include <algorithm>

#include "base/shown_text.h"
#include "item_row.h"
#include "search/condition.h"

namespace diml::postgres {
namespace {

// A parameter's place: "$3".
class Values {
 public:
  explicit Values(Parameters& parameters) : parameters_(parameters) {}

  std::string text(const std::string& value) {
    parameters_.add_text(value);
    return place();
  }
  std::string bytes(const std::string& value) {
    parameters_.add_bytes(bytes_of(value));
    return place();
  }
  std::string all_bytes(const std::vector<std::string>& values) {
    parameters_.add_bytes(values);
    return place();
  }
  std::string all_texts(const std::vector<std::string>& values) {
    parameters_.add_texts(values);
    return place();
  }

 private:
  std::string place() const { return "$" + std::to_string(parameters_.size()); }

  Parameters& parameters_;
};

const char* sign_of(Relation relation) {
  switch (relation) {
    case Relation::less:
      return " < ";
    case Relation::at_most:
      return " <= ";
    case Relation::more:
      return " > ";
    default:
      return " >= ";
  }
}

bool is_equality(const Condition& condition) {
  return condition.relation == Relation::equal || condition.relation == Relation::unequal;
}

std::vector<std::string> texts_of(const Condition& condition) {
  std::vector<std::string> texts;
  for (const Operand& operand : condition.operands) texts.push_back(operand.text);
  return texts;
}

// A text (bytea) against the operand of an order: see is_ordered() of condition_holds.cpp.
std::string ordered_text(const Condition& condition, const std::string& bytes,
                         const std::string& operand, Values& values) {
  const std::string sign = sign_of(condition.relation);
  if (!condition.operands[0].number) return bytes + sign + values.bytes(operand);
  return "coalesce(diml.number_in(" + bytes + ")" + sign + "diml.number_in(" +
         values.bytes(condition.operands[0].text) + "), false)";
}

// Of a label or a path.
std::string of_column(const Condition& condition, const std::string& column, Values& values) {
  switch (condition.relation) {
    case Relation::equal:
      return column + " = ANY(" + values.all_bytes(texts_of(condition)) + ")";
    case Relation::unequal:
      return column + " <> ALL(" + values.all_bytes(texts_of(condition)) + ")";
    case Relation::exists:
      return column + " <> ''";
    case Relation::missing:
      return column + " = ''";
    case Relation::contains:
      return "strpos(diml.folded(" + column + "), diml.folded(" +
             values.bytes(condition.operands[0].text) + ")) > 0";
    default:
      return "(" + column + " <> '' AND " +
             ordered_text(condition, column, condition.operands[0].text, values) + ")";
  }
}

// The value of the key, or NULL.
std::string value_of(const std::string& key, Values& values) {
  const std::string name = searchable_text(key);
  if (!is_utf8(name) || name.empty()) return "NULL::jsonb";  // no metadata has it
  const std::string place = values.text(name);
  if (name.find('.') != std::string::npos) return "diml.value_at(metadata, " + place + ")";
  return "nullif(metadata -> " + place + ", 'null')";
}

// Of one value: a text, a number, true or false. See scalar_satisfies() of condition_holds.cpp.
std::string scalar_sql(const Condition& condition, Values& values) {
  const std::string bytes = "convert_to(one #>> '{}', 'UTF8')";
  std::vector<std::string> numbers;
  for (const Operand& operand : condition.operands) {
    if (operand.number) numbers.push_back(numeric_text(*operand.number));
  }
  std::string of_text;
  std::string of_bool = "false";
  std::string of_number = "false";
  if (is_equality(condition)) {
    std::vector<std::string> texts;
    for (const Operand& operand : condition.operands) {
      texts.push_back(searchable_text(operand.text));
    }
    const std::string place = values.all_bytes(texts);
    of_text = bytes + " = ANY(" + place + ")";
    of_bool = of_text;
    if (!numbers.empty()) {
      of_number = "(one #>> '{}')::numeric = ANY(" + values.all_texts(numbers) + "::numeric[])";
    }
  } else {
    of_text = ordered_text(condition, bytes, searchable_text(condition.operands[0].text), values);
    if (!numbers.empty()) {
      of_number = "(one #>> '{}')::numeric" + std::string(sign_of(condition.relation)) +
                  values.text(numbers[0]) + "::numeric";
    }
  }
  return "CASE jsonb_typeof(one) WHEN 'string' THEN " + of_text + " WHEN 'boolean' THEN " +
         of_bool + " WHEN 'number' THEN " + of_number + " ELSE false END";
}

std::string of_metadata(const Condition& condition, Values& values) {
  const std::string value = value_of(condition.key, values);
  if (condition.relation == Relation::exists) return value + " IS NOT NULL";
  if (condition.relation == Relation::missing) return value + " IS NULL";
  // A list satisfies what one of its values satisfies.
  const std::string list = "CASE jsonb_typeof(v) WHEN 'array' THEN v ELSE jsonb_build_array(v) END";
  return std::string(condition.relation == Relation::unequal ? "NOT " : "") +
         "EXISTS (SELECT FROM (SELECT " + value + " AS v) AS of_key, jsonb_array_elements(" + list +
         ") AS one WHERE " + scalar_sql(condition, values) + ")";
}

}  // namespace

std::string filter_sql(std::span<const Condition> conditions, Parameters& parameters) {
  Values values(parameters);
  std::string all;
  for (const Condition& condition : conditions) {
    all += all.empty() ? "" : " AND ";
    switch (condition.field) {
      case ConditionField::label:
        all += of_column(condition, "label", values);
        break;
      case ConditionField::path:
        all += of_column(condition, "path", values);
        break;
      case ConditionField::metadata:
        all += of_metadata(condition, values);
        break;
    }
  }
  return all.empty() ? "true" : all;
}

}  // namespace diml::postgres
