#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diml {

// What a condition is about. A key of the metadata has dots where it goes into nested objects.
enum class ConditionField : std::uint8_t { label, path, metadata };

enum class Relation : std::uint8_t {
  equal,  // to one of the operands: also `in`
  unequal,
  less,
  at_most,
  more,
  at_least,
  exists,
  missing,
  contains,  // in upper or lower case; paths only, and not in the grammar
};

struct Operand {
  std::string text;
  std::optional<long double> number;  // where all of the text is one
};
Operand operand_from(std::string text);

// One condition of a Filter.
struct Condition {
  ConditionField field = ConditionField::metadata;
  std::string key;  // of the metadata
  Relation relation = Relation::equal;
  std::vector<Operand> operands;
};

// Throws, with an example, where the text is no condition.
Condition condition_from(const std::string& text);

// Wide enough for every int64 and every double. None where a part of the text is no number, or
// where it is longer than any number that somebody means.
constexpr std::size_t kLongestNumber = 1000;
std::optional<long double> number_in(std::string_view text);

// Whether it holds for a label or a path. A label of "" is missing.
bool holds(const Condition& condition, const std::string& text);

// Whether all conditions on metadata hold for a JSON object, which is read once. Throws where the
// text is no JSON.
bool hold_in_metadata(const std::vector<Condition>& conditions, const std::string& metadata);

}  // namespace diml
