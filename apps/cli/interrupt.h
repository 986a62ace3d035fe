#pragma once

namespace diml::cli {

// While it lives, Ctrl-C and SIGTERM ask for an end at the next good place instead of killing the
// program; a second Ctrl-C kills it as usual.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static bool asked();
};

}  // namespace diml::cli
