#include "app_tree.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace diml::cli {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_number(std::string_view type) {
  return type == "UINT" || type == "INT" || type == "FLOAT" || type == "ENUM";
}

// "1e+09" and "1000000000" as "1,000,000,000".
std::string readable(const std::string& number) {
  constexpr double kLarge = 1e6;
  constexpr double kLargest = 1e15;  // whole numbers up to there are exact
  constexpr std::size_t kGroup = 3;
  const double value = std::strtod(number.c_str(), nullptr);
  if (std::abs(value) < kLarge || std::abs(value) > kLargest || value != std::floor(value))
    return number;
  std::string digits = std::to_string(static_cast<long long>(value));
  const std::size_t least = kGroup + (value < 0 ? 1 : 0);
  for (std::size_t k = digits.size(); k > least; k -= kGroup) digits.insert(k - kGroup, ",");
  return digits;
}

// CLI11 describes what a value must be as "UINT:INT in [1 - 14]", "UINT:POSITIVE" or "TEXT:{a,b}".
std::string range_in(const std::string& type) {
  const bool whole = !type.starts_with("FLOAT");
  if (contains(type, "NONNEGATIVE")) return "0 or more";
  if (contains(type, "POSITIVE")) return whole ? "1 or more" : "above 0";
  const std::size_t begin = type.find(" in [");
  const std::size_t middle = type.find(" - ", begin);
  const std::size_t end = type.find(']', begin);
  if (begin == std::string::npos || middle == std::string::npos || end == std::string::npos) {
    return "";
  }
  return readable(type.substr(begin + 5, middle - begin - 5)) + " to " +
         readable(type.substr(middle + 3, end - middle - 3));
}

std::vector<std::string> choices_in(const std::string& type) {
  const std::size_t begin = type.find('{');
  const std::size_t end = type.rfind('}');
  std::vector<std::string> choices;
  if (begin == std::string::npos || end == std::string::npos || end < begin) return choices;
  std::string word;
  for (const char c : type.substr(begin + 1, end - begin - 1) + ",") {
    if (c != ',') {
      word += c;
    } else {
      if (!word.empty()) choices.push_back(word);
      word.clear();
    }
  }
  return choices;
}

std::string value_in(const std::string& type) {
  const std::string base = type.substr(0, type.find_first_of(": "));
  if (is_number(base)) return "NUMBER";
  return base.empty() || base.front() == '{' ? "TEXT" : base;
}

// "[0,100]" as CLI11 writes the default of a list; people write 0,100.
std::string default_in(const CLI::Option& option) {
  std::string text = option.get_default_str();
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
  }
  return text == "\"\"" ? "" : text;
}

}  // namespace

std::string OptionFacts::name() const {
  if (names.empty()) return positional;
  return *std::max_element(names.begin(), names.end(), [](const auto& a, const auto& b) {
    // The first of the long ones.
    return a.starts_with("--") < b.starts_with("--");
  });
}

std::string OptionFacts::value_text() const {
  std::string text;
  for (const std::string& choice : choices) text += (text.empty() ? "" : "|") + choice;
  if (text.empty()) text = value;
  if (!range.empty()) text += " (" + range + ")";
  return text;
}

std::string CommandFacts::usage() const {
  std::string text = path;
  if (!options.empty()) text += " [OPTIONS]";
  for (const OptionFacts& one : positionals) {
    const std::string word = one.positional + (one.repeated ? "..." : "");
    text += " " + (one.required ? word : "[" + word + "]");
  }
  if (!commands.empty()) text += positionals.empty() && path == "diml" ? " COMMAND" : " [COMMAND]";
  return text;
}

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts;
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  if (facts.names.empty()) facts.positional = option.get_single_name();
  if (option.get_items_expected_max() != 0) {  // not a flag
    const std::string type = option.get_type_name();
    facts.value = value_in(type);
    facts.range = range_in(type);
    facts.choices = choices_in(type);
    facts.default_value = default_in(option);
    facts.repeated = option.get_expected_max() >= CLI::detail::expected_max_vector_size;
  }
  facts.description = option.get_description();
  facts.group = option.get_group();
  facts.required = option.get_required();
  return facts;
}

CommandFacts facts_of(const CLI::App& app, const std::string& path) {
  CommandFacts facts{path, app.get_name(), app.get_description(), app.get_footer(), {}, {}, {}};
  for (const CLI::Option* option :
       app.get_options([](const CLI::Option* one) { return !one->get_group().empty(); })) {
    OptionFacts one = facts_of(*option);
    (one.names.empty() ? facts.positionals : facts.options).push_back(std::move(one));
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) {
      facts.commands.push_back(facts_of(*command, path + " " + command->get_name()));
    }
  }
  return facts;
}

std::vector<const CommandFacts*> all_of(const CommandFacts& command) {
  std::vector<const CommandFacts*> all = {&command};
  for (const CommandFacts& below : command.commands) {
    const auto more = all_of(below);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace diml::cli
