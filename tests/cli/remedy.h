#pragma once

#include <regex>
#include <string>

#include "cli/program.h"

namespace diml::test {

// The command with the flags that its error advises: those in the parentheses at its end.
inline Arguments with_remedy(Arguments command, const std::string& error) {
  const std::size_t open = error.rfind('(');
  if (open == std::string::npos) return command;
  const std::string remedy = error.substr(open);
  const std::regex flag("--[a-z-]+");
  for (std::sregex_iterator found(remedy.begin(), remedy.end(), flag), end; found != end; ++found) {
    command.push_back(found->str());
  }
  return command;
}

}  // namespace diml::test
