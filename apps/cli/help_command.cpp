#include <cstdio>

#include "command.h"
#include "help_text.h"

namespace diml::cli {
namespace {

void print_help(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* command = &program;
  for (const std::string& word : words) {
    const CLI::App* next = nullptr;
    std::vector<std::string> known;
    for (const CLI::App* below : command->get_subcommands({})) {
      if (below->get_name() == word) next = below;
      known.push_back(below->get_name());
    }
    if (next == nullptr) {
      throw CLI::ParseError(path_of(*command) + ": " + unknown_command(word, known),
                            CLI::ExitCodes::ExtrasError);
    }
    command = next;
  }
  // Not command->help(): at the program itself, that would be the help of this command, which was
  // chosen.
  const std::string text =
      command->get_formatter()->make_help(command, path_of(*command), CLI::AppFormatMode::Normal);
  std::fputs(text.c_str(), stdout);
}

}  // namespace

Run define_help(CLI::App& command) {
  auto words = std::make_shared<std::vector<std::string>>();
  command.add_option("command", *words, "A command, such as index build; none: all of them");
  return [words, program = command.get_parent()] { print_help(*program, *words); };
}

}  // namespace diml::cli
