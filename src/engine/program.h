#pragma once

#include <string>
#include <vector>

namespace diml {

// Runs a program in a folder and waits for it. Throws with the last line of what it complained of,
// or with `remedy` when there is no such program; `call`: a call that does without it.
void run_program(const std::vector<std::string>& arguments, const std::string& folder,
                 const std::string& remedy, const char* call = "");

}  // namespace diml
