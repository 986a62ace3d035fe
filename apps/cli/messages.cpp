#include "messages.h"

#include <cstdio>

#include "base/enum_names.h"
#include "base/shown_text.h"
#include "options.h"

namespace diml::cli {
namespace {

constexpr EnumNames<4> kNames = {"error", "warning", "info", "debug"};
constexpr const char* kGroup = "Messages";

LogLevel shown = LogLevel::info;

}  // namespace

const char* name_of(LogLevel level) { return name_in(kNames, level); }

LogLevel log_level_from(std::string_view name) {
  return value_in<LogLevel>(kNames, name, "log level");
}

void define_messages(CLI::App& command) {
  CLI::Option* level = add_choice(command, "--log-level", shown, log_level_from,
                                  "Which messages go to standard error; errors always do");
  CLI::Option* quiet = command.add_flag_callback(
      "-q,--quiet", [] { shown = LogLevel::warning; },
      "No progress bars: the same as --log-level warning");
  CLI::Option* verbose = command.add_flag_callback(
      "-v,--verbose", [] { shown = LogLevel::debug; },
      "Also version, threads, time and memory: the same as --log-level debug");
  for (CLI::Option* option : {level, quiet, verbose}) option->group(kGroup);
  quiet->excludes(verbose)->excludes(level);
  verbose->excludes(level);
}

bool is_shown(LogLevel level) { return level <= shown; }

void say(LogLevel level, const std::string& line) {
  if (is_shown(level)) std::fprintf(stderr, "%s\n", shown_message(line).c_str());
}

}  // namespace diml::cli
