#include "help_text.h"

#include <algorithm>
#include <vector>

#include "app_tree.h"
#include "base/nearest_name.h"

namespace diml::cli {
namespace {

class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    const OptionFacts facts = facts_of(*option);
    std::string text;
    if (!facts.is_flag()) {
      text += " " + facts.value_text();
      if (!facts.default_value.empty()) text += "=" + facts.default_value;
      if (facts.repeated) text += " ...";
      if (facts.required) text += " REQUIRED";
    }
    const auto list = [&](const char* label, const auto& others) {
      if (others.empty()) return;
      std::vector<std::string> names;  // CLI11 keeps them by address: not the same in every run
      for (const CLI::Option* other : others) names.push_back(other->get_name());
      std::sort(names.begin(), names.end());
      text += label;
      for (const std::string& name : names) text += " " + name;
    };
    list(" Needs:", option->get_needs());
    list(" Excludes:", option->get_excludes());
    return text;
  }

  std::string make_usage(const CLI::App* app, std::string) const override {
    return "Usage: " + facts_of(*app, path_of(*app)).usage() + "\n";
  }
};

std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string::npos) return "";
  const std::size_t from = begin + before.size();
  const std::size_t end = after.empty() ? text.size() : text.find(after, from);
  return end == std::string::npos ? "" : text.substr(from, end - from);
}

std::string must_be(const OptionFacts& facts, const CLI::Option& option) {
  if (!facts.range.empty()) return facts.range;
  if (facts.value != "NUMBER") return "of another form";
  const std::string type = option.get_type_name();
  return type.starts_with("UINT")  ? "a whole number of 0 or more"
         : type.starts_with("INT") ? "a whole number"
                                   : "a number";
}

// name: of the option as CLI11's messages have it.
std::string wrong_value(const CLI::App& command, const std::string& name,
                        const std::string& value) {
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option == nullptr || value.empty()) return "";
  return name + " must be " + must_be(facts_of(*option), *option) + ", not " + value;
}

// Whether most letters are the same from the front or from the back.
bool is_close(const std::string& a, const std::string& b) {
  const auto front = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  const auto back = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first - a.rbegin();
  const auto longest = static_cast<std::ptrdiff_t>(std::max(a.size(), b.size()));
  return 4 * (front + back) >= 3 * longest;
}

// "--imges (did you mean --images?)"
std::string with_guess(const std::string& argument, const CLI::App& command) {
  if (!argument.starts_with("--")) return argument;
  std::vector<std::string> known;
  for (const OptionFacts& option : facts_of(command, "").options) known.push_back(option.name());
  const std::string given = argument.substr(0, argument.find('='));
  const std::string guess = nearest_name(given, known);
  return is_close(given, guess) ? argument + " (did you mean " + guess + "?)" : argument;
}

std::string unexpected(const CLI::App& command) {
  // CLI11's own message has them from last to first.
  const std::vector<std::string> all = command.remaining();
  std::vector<std::string> commands;
  for (const CLI::App* below : command.get_subcommands({})) commands.push_back(below->get_name());
  if (!commands.empty() && !all[0].starts_with('-')) return unknown_command(all[0], commands);
  std::string text;
  for (const std::string& argument : all) {
    text += (text.empty() ? "" : " ") + with_guess(argument, command);
  }
  return (all.size() == 1 ? "unexpected argument: " : "unexpected arguments: ") + text;
}

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<HelpFormatter>(); }

std::string path_of(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? "diml" : path_of(*parent) + " " + app.get_name();
}

const CLI::App& innermost(const CLI::App& program) {
  const auto chosen = program.get_subcommands();
  return chosen.empty() ? program : innermost(*chosen.back());
}

std::string unknown_command(const std::string& word, const std::vector<std::string>& known) {
  const std::string guess = nearest_name(word, known);
  std::string text = "there is no command '" + word + "'";
  if (is_close(word, guess)) text += " (did you mean " + guess + "?)";
  for (std::size_t k = 0; k < known.size(); ++k) text += (k == 0 ? ": " : ", ") + known[k];
  return text;
}

std::string message_of(const CLI::ParseError& error, const CLI::App& program) {
  const std::string text = error.what();
  const CLI::App& command = innermost(program);
  std::string better;
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !command.remaining().empty()) {
    better = unexpected(command);
  } else if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr) {
    better = wrong_value(command, text.substr(0, text.find(": ")),
                         between(text, ": Value ", " not in range"));
  } else if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    better =
        wrong_value(command, between(text, "Could not convert: ", " = "), between(text, " = ", ""));
  } else if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string name = text.substr(0, text.find(": "));
    if (command.get_option_no_throw(name) != nullptr && text.ends_with("missing")) {
      better = name + " needs a value";
    }
  }
  if (text == "A subcommand is required") {
    better = "a command is required: 'diml help' lists them";
  }
  return better.empty() ? text : better;
}

}  // namespace diml::cli
