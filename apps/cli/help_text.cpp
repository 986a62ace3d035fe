#include "help_text.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
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

// "bash, zsh or fish"
std::string listed(const std::vector<std::string>& choices) {
  std::string text;
  for (std::size_t k = 0; k < choices.size(); ++k) {
    text += (k == 0 ? "" : k + 1 == choices.size() ? " or " : ", ") + choices[k];
  }
  return text;
}

// CLI11's: "shell: tcsh not in {bash,zsh,fish}"
std::string wrong_choice(const CLI::App& command, const std::string& name,
                         const std::string& value) {
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option == nullptr || value.empty()) return "";
  return name + " must be " + listed(facts_of(*option).choices) + ", not " + value;
}

// "--imges (did you mean --images?)"
std::string with_guess(const std::string& argument, const CLI::App& command) {
  if (!argument.starts_with("--")) return argument;
  std::vector<std::string> known;
  for (const OptionFacts& option : facts_of(command, "").options) known.push_back(option.name());
  const std::string given = argument.substr(0, argument.find('='));
  const std::string guess = nearest_name(given, known);
  return is_like(given, guess) ? argument + " (did you mean " + guess + "?)" : argument;
}

// People name photos without an option, or let the shell expand a pattern.
std::string hint_of_images(const std::string& argument, const CLI::App& command) {
  std::error_code unknown;
  if (command.get_option_no_throw("--images") == nullptr || argument.starts_with('-') ||
      !std::filesystem::exists(argument, unknown)) {
    return "";
  }
  return ": --images takes one folder of photos, or one text file with a path per line";
}

std::string unexpected(const CLI::App& command) {
  // CLI11's own message has them from last to first.
  const std::vector<std::string> all = command.remaining();
  std::vector<std::string> commands;
  for (const CLI::App* below : command.get_subcommands({})) commands.push_back(below->get_name());
  if (!commands.empty() && !all[0].starts_with('-')) return unknown_command(all[0], commands);
  constexpr std::size_t kShown = 6;
  std::string text;
  for (std::size_t k = 0; k < std::min(kShown, all.size()); ++k) {
    text += (text.empty() ? "" : " ") + with_guess(all[k], command);
  }
  if (all.size() > kShown) text += " and " + std::to_string(all.size() - kShown) + " more";
  return (all.size() == 1 ? "unexpected argument: " : "unexpected arguments: ") + text +
         hint_of_images(all[0], command);
}

// What other programs call some commands.
std::string other_word_for(const std::string& word, const std::vector<std::string>& known) {
  constexpr std::array<std::array<std::string_view, 2>, 14> kOthers = {{
      {"create", "build"},
      {"delete", "remove"},
      {"find", "search"},
      {"ls", "list"},
      {"new", "build"},
      {"predict", "embed"},
      {"query", "search"},
      {"rm", "remove"},
      {"server", "serve"},
      {"show", "info"},
      {"stats", "info"},
      {"test", "evaluate"},
      {"update", "sync"},
      {"web", "serve"},
  }};
  for (const auto& [other, ours] : kOthers) {
    if (word == other && std::find(known.begin(), known.end(), ours) != known.end()) {
      return std::string(ours);
    }
  }
  return "";
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
  std::string guess = nearest_name(word, known);
  if (!is_like(word, guess)) guess = other_word_for(word, known);
  std::string text = "there is no command '" + word + "'";
  if (!guess.empty()) text += " (did you mean " + guess + "?)";
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
    const std::string name = text.substr(0, text.find(": "));
    better = wrong_value(command, name, between(text, ": Value ", " not in range"));
    if (better.empty()) better = wrong_choice(command, name, between(text, ": ", " not in {"));
  } else if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    better =
        wrong_value(command, between(text, "Could not convert: ", " = "), between(text, " = ", ""));
  } else if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string name = text.substr(0, text.find(": "));
    if (command.get_option_no_throw(name) != nullptr && text.ends_with("missing")) {
      better = name + " needs a value";
    }
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const CLI::Option* option = command.get_option_no_throw(between(text, "", " is required"));
    if (option != nullptr && !facts_of(*option).choices.empty()) {
      better = text + ": " + listed(facts_of(*option).choices);
    }
  }
  if (text == "A subcommand is required") {
    better = command.remaining().empty() ? "a command is required: 'diml help' lists them"
                                         : unexpected(command);
  }
  return better.empty() ? text : better;
}

}  // namespace diml::cli
