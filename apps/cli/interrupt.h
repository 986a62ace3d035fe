#pragma once

namespace diml::cli {

// While it exists, Ctrl-C and SIGTERM request a stop at the next safe point instead of killing the
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
