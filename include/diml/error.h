#pragma once

#include <stdexcept>
#include <string>

namespace diml {

// What went wrong, in one line, with the remedy. The library throws nothing else of its own;
// programs map it once to an exit code, an HTTP status or a Python exception.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace diml
