#pragma once

#include <algorithm>
#include <string>

#include <c10/util/Exception.h>

#include "diml/error.h"

namespace diml::learn {

// LibTorch's errors are pages of text, of which the first line says what.
inline Error error_of(const c10::Error& error) {
  std::string text = error.what_without_backtrace();
  text.resize(std::min(text.find('\n'), text.size()));
  // Memory of the host has no class of its own in LibTorch, that of a card has.
  const bool memory = text.find("memory") != std::string::npos;
  return {memory ? ErrorKind::out_of_resources : ErrorKind::internal, "LibTorch: " + text};
}

// work(); what LibTorch throws in it comes out as an Error of one line.
template <class Work>
auto in_one_line(const Work& work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    throw error_of(error);
  }
}

}  // namespace diml::learn
