#pragma once

#include <algorithm>
#include <string>

#include <c10/util/Exception.h>

#include "diml/error.h"

namespace diml::learn {

// LibTorch's errors are pages of text; the first line has the reason.
inline Error error_of(const c10::Error& error) {
  std::string text = error.what_without_backtrace();
  text.resize(std::min(text.find('\n'), text.size()));
  // LibTorch has an error class for the memory of a GPU, but none for that of the host.
  const bool memory = text.find("memory") != std::string::npos;
  return {memory ? ErrorKind::out_of_resources : ErrorKind::internal, "LibTorch: " + text};
}

// Calls work(); an exception of LibTorch becomes an Error of one line.
template <class Work>
auto in_one_line(const Work& work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    throw error_of(error);
  }
}

}  // namespace diml::learn
