#include <array>
#include <cstdio>
#include <string_view>

#include "command.h"
#include "completion_scripts.h"

namespace diml::cli {
namespace {

struct Shell {
  const char* name;
  std::string (*script)(const CommandFacts& program);
};
constexpr std::array kShells = {Shell{"bash", bash_completion}, Shell{"zsh", zsh_completion},
                                Shell{"fish", fish_completion}};

}  // namespace

Run define_completion(CLI::App& command) {
  auto shell = std::make_shared<std::string>();
  std::vector<std::string> names;
  for (const Shell& one : kShells) names.emplace_back(one.name);
  command.add_option("shell", *shell, "The shell that runs the script")
      ->required()
      ->check(CLI::IsMember(names));
  return [shell, program = command.get_parent()] {
    for (const Shell& one : kShells) {
      if (*shell == one.name) {
        std::fputs(one.script(facts_of(*program, "diml")).c_str(), stdout);
      }
    }
  };
}

}  // namespace diml::cli
