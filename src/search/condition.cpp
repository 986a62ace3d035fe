// The grammar of conditions: text to what it says.

#include "condition.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "diml/error.h"
#if DIML_HAS_JSON
#include "base/json_limits.h"
#include "json_tree.h"
#endif

namespace diml {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(kSpaces) - first + 1));
}

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  constexpr std::size_t kShown = 80;
  std::size_t end = std::min(text.size(), kShown);
  // Not within a character of UTF-8, and in one line.
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  std::string shown = text.substr(0, end) + (end < text.size() ? "..." : "");
  std::replace_if(
      shown.begin(), shown.end(),
      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }, ' ');
  throw Error(ErrorKind::bad_input, "the condition '" + shown + "' " + why, "where");
}

struct Sign {
  std::string_view sign;
  Relation relation;
};

// A sign of two letters before the one that it begins with.
constexpr std::array kSigns = {Sign{"!=", Relation::unequal},  Sign{"<=", Relation::at_most},
                               Sign{">=", Relation::at_least}, Sign{"=", Relation::equal},
                               Sign{"<", Relation::less},      Sign{">", Relation::more}};

void set_field(Condition& condition, const std::string& name, const std::string& text) {
  constexpr std::string_view kMetadata = "metadata.";
  if (name.empty()) refuse(text, "names no field: write label=pug, or price<=20");
  if (name == "label") {
    condition.field = ConditionField::label;
  } else if (name == "path") {
    condition.field = ConditionField::path;
  } else {
    condition.key = name.starts_with(kMetadata) ? name.substr(kMetadata.size()) : name;
    if (condition.key.empty()) refuse(text, "names no key: write metadata.label=pug");
#if !DIML_HAS_JSON
    throw Error(ErrorKind::unsupported,
                "this build does not read metadata: filter by label or path, or install "
                "nlohmann-json3-dev and build again");
#endif
  }
}

#if DIML_HAS_JSON
std::vector<Operand> operands_in_json(const std::string& list, const std::string& text) {
  if (const auto excess = excess_of(list, {})) refuse(text, "has a list that " + *excess);
  const JsonTree tree = JsonTree::parse_or_discard(list);
  const nlohmann::json& json = tree.root();
  if (!json.is_array() || json.empty()) {
    refuse(text, "has no valid list: write colour in red,blue or colour in [\"a,b\",\"c\"]");
  }
  std::vector<Operand> operands;
  for (const auto& one : json) {
    if (one.is_structured() || one.is_null()) {
      refuse(text,
             "lists something that is neither text nor a number: write colour in [\"a,b\",\"c\"]");
    }
    operands.push_back(operand_from(one.is_string() ? one.get<std::string>() : one.dump()));
  }
  return operands;
}
#endif

// Where a text in quotes ends that begins at `begin`: past its second quote.
std::size_t end_of_quoted(const std::string& list, std::size_t begin, const std::string& text) {
  for (std::size_t at = begin + 1; at < list.size(); ++at) {
    if (list[at] == '\\') {
      ++at;
    } else if (list[at] == '"') {
      return at + 1;
    }
  }
  refuse(text, "has a quote that does not end: write label=\"shiba, inu\"");
}

// "shiba, inu" is a text of JSON; everything else is taken as it is.
std::string without_quotes(const std::string& value, const std::string& text) {
  if (!value.starts_with('"')) return value;
  if (end_of_quoted(value, 0, text) != value.size()) {
    refuse(text, "has something after its quotes: write label=\"shiba, inu\"");
  }
#if DIML_HAS_JSON
  const auto json = nlohmann::json::parse(value, nullptr, false);
  if (json.is_string()) return json.get<std::string>();
  refuse(text, "has no valid text in its quotes: write \\\" for a quote and \\\\ for \\");
#else
  return value.substr(1, value.size() - 2);
#endif
}

std::vector<Operand> operands_in(const std::string& list, const std::string& text) {
#if DIML_HAS_JSON
  if (list.starts_with('[')) return operands_in_json(list, text);
#endif
  std::vector<Operand> operands;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t first = list.find_first_not_of(kSpaces, begin);
    const bool quoted = first != std::string::npos && list[first] == '"';
    const std::size_t from = quoted ? end_of_quoted(list, first, text) : begin;
    const std::size_t comma = std::min(list.find(',', from), list.size());
    const std::string value = trimmed(list.substr(begin, comma - begin));
    if (value.empty()) {
      refuse(text, "lists an empty value: write colour in red,blue (the empty text is [\"\"])");
    }
    operands.push_back(operand_from(without_quotes(value, text)));
    begin = comma + 1;
  }
  return operands;
}

// The place of the word " in " that follows a field; npos where there is none.
std::size_t place_of_in(std::string_view text) {
  for (std::size_t at = text.find("in"); at != std::string_view::npos;
       at = text.find("in", at + 1)) {
    const bool begins = at > 0 && kSpaces.find(text[at - 1]) != std::string_view::npos;
    const bool ends = at + 2 >= text.size() ||
                      kSpaces.find(text[at + 2]) != std::string_view::npos || text[at + 2] == '[';
    if (begins && ends && text.find_first_not_of(kSpaces) < at) return at;
  }
  return std::string_view::npos;
}

// `FIELD exists` and `FIELD missing`.
bool take_word(Condition& condition, const std::string& text) {
  const std::string bare = trimmed(text);
  const std::size_t space = bare.find_last_of(kSpaces);
  if (space == std::string::npos) return false;
  const std::string word = bare.substr(space + 1);
  if (word != "exists" && word != "missing") return false;
  condition.relation = word == "exists" ? Relation::exists : Relation::missing;
  set_field(condition, trimmed(bare.substr(0, space)), text);
  return true;
}

void take_sign(Condition& condition, std::size_t at, const std::string& text) {
  const std::string_view from = std::string_view(text).substr(at);
  const Sign& found = *std::find_if(kSigns.begin(), kSigns.end(),
                                    [&](const Sign& sign) { return from.starts_with(sign.sign); });
  condition.relation = found.relation;
  set_field(condition, trimmed(text.substr(0, at)), text);
  const std::string value = trimmed(from.substr(found.sign.size()));
  const std::string field = trimmed(text.substr(0, at));
  if (value.empty()) {
    refuse(text, "has no value: write " + field + std::string(found.sign) + "VALUE, or '" + field +
                     " missing' for items without it");
  }
  if (std::string_view("=<>").find(value[0]) != std::string_view::npos) {
    refuse(text, "has two signs in a row: one of = != < <= > >=, such as label=pug or price<=20");
  }
  condition.operands = {operand_from(without_quotes(value, text))};
}

}  // namespace

std::optional<long double> number_in(std::string_view text) {
  const auto whole = [&](auto value) -> std::optional<long double> {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return static_cast<long double>(value);
  };
  if (text.size() > kLongestNumber) return std::nullopt;
  if (const auto number = whole(std::int64_t{0})) return number;
  if (const auto number = whole(std::uint64_t{0})) return number;
  const auto number = whole(double{0.0});  // a double, so that 0.1 is the 0.1 of JSON
  return number && std::isfinite(*number) ? number : std::nullopt;
}

Operand operand_from(std::string text) {
  const std::optional<long double> number = number_in(text);
  return {std::move(text), number};
}

Condition condition_from(const std::string& text) {
  Condition condition;
  const std::size_t sign = std::min(text.find_first_of("=<>"), text.find("!="));
  const std::size_t in = place_of_in(std::string_view(text).substr(0, sign));
  if (in != std::string::npos) {
    set_field(condition, trimmed(text.substr(0, in)), text);
    condition.operands = operands_in(trimmed(text.substr(in + 2)), text);
  } else if (sign != std::string::npos) {
    take_sign(condition, sign, text);
  } else if (!take_word(condition, text)) {
    refuse(text,
           "is not understood: write FIELD=VALUE, such as label=pug, price<=20, 'colour in "
           "red,blue', 'price exists' or 'price missing'");
  }
  return condition;
}

}  // namespace diml
