#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace diml::test {

using Arguments = std::vector<std::string>;

// Where standard error of the program goes.
enum class ErrorStream { pipe, terminal };

struct ProgramSettings {
  std::string folder = "";  // working directory; "" for the current one
  ErrorStream error_stream = ErrorStream::pipe;
  std::string standard_output = "";  // a device that takes it instead of ProgramResult::out
  std::size_t largest_file = 0;      // bytes after which writing a file fails; 0 for no limit
  std::size_t most_memory = 0;       // bytes of addresses; 0 for no limit
  std::size_t most_data = 0;         // bytes that it may write to; 0 for no limit
  std::size_t most_threads = 0;      // of its user, who is not root; 0 for no limit
  std::size_t most_files = 0;        // that are open; 0 for no limit
  std::vector<std::string> environment = {};        // "NAME=value", added to this process's own
  unsigned user = 0;                                // whose rights it has; 0 for this process's own
  std::function<void(int process)> meanwhile = {};  // called while it runs
};

struct ProgramResult {
  int exit_code = -1;  // 128 + the signal if one ended it
  std::string out;
  std::string err;
};

// Runs the diml program to its end.
ProgramResult run_diml(const Arguments& arguments, const ProgramSettings& settings = {});

}  // namespace diml::test
