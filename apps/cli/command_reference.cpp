#include "command_reference.h"

#include <algorithm>
#include <string_view>

namespace diml::cli {
namespace {

// Text outside of code: what Markdown and HTML would read as markup is escaped.
std::string plain(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (c == '\n') {
      made += ' ';
      continue;
    }
    if (std::string_view("\\`*_[]<>|#").find(c) != std::string_view::npos) made += '\\';
    made += c;
  }
  return made;
}

std::string entry_of(const OptionFacts& option) {
  std::string words;
  for (const std::string& name : option.names) words += (words.empty() ? "" : ", ") + name;
  if (words.empty()) {
    words = option.positional;
  } else if (!option.is_flag()) {
    words += " " + option.value_text();
  }
  std::string text = "- `" + words + "`: " + plain(option.description);
  if (option.required) text += " (required)";
  if (!option.default_value.empty()) text += " (default: `" + option.default_value + "`)";
  return text + "\n";
}

// The footer of a command is "Example:" and its lines; the program's own is plain text.
std::string footer_of(const std::string& footer) {
  constexpr std::string_view kExample = "Example:\n";
  if (!footer.starts_with(kExample)) return plain(footer) + "\n";
  std::string lines;
  std::string_view rest = std::string_view(footer).substr(kExample.size());
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    lines += std::string(line.substr(indent)) + "\n";
  }
  return "```sh\n" + lines + "```\n";
}

// What the program itself takes, every command takes: its section alone has it.
bool is_common(const OptionFacts& option, const CommandFacts& program) {
  return std::any_of(program.options.begin(), program.options.end(),
                     [&](const OptionFacts& one) { return one.names == option.names; });
}

void write(const CommandFacts& command, const CommandFacts& program, std::string& text) {
  const bool is_program = &command == &program;
  if (!is_program) text += "\n## " + command.path + "\n\n" + plain(command.description) + ".\n";
  text += "\n`" + command.usage() + "`\n\n";
  for (const OptionFacts& one : command.positionals) text += entry_of(one);
  for (const OptionFacts& one : command.options) {
    if (is_program || !is_common(one, program)) text += entry_of(one);
  }
  if (!command.footer.empty()) text += "\n" + footer_of(command.footer);
  for (const CommandFacts& below : command.commands) write(below, program, text);
}

}  // namespace

std::string markdown_of(const CommandFacts& program) {
  std::string text = "# Commands\n";
  write(program, program, text);
  return text;
}

}  // namespace diml::cli
