#pragma once

#include <CLI/CLI.hpp>

#include "diml/error.h"

namespace diml::cli {

// The exception that is being handled, as an error with a kind: the library's own as they are, the
// standard library's by their meaning.
Error current_error();

// With the flag that sets error.parameter(), where the command that ran has it: "(--skip-bad skips
// it)".
Error with_flag(const Error& error, const CLI::App& command);

// After work that lies on disk and goes on with --resume. kept: "40 of 42 images are kept in e".
Error with_work_kept(const Error& error, const std::string& kept);

// Runs the work. Where its user ends it, the error says what is left: line().
template <class Work, class Line>
auto or_stopped(const Work& work, const Line& line) -> decltype(work()) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::cancelled) throw;
  }
  throw Error(ErrorKind::cancelled, line());
}

int exit_code_of(ErrorKind kind);

// For --help.
extern const char* const kExitCodes;

}  // namespace diml::cli
