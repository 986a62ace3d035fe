#pragma once

#include <string>

#include <gtest/gtest.h>

#include "diml/error.h"

namespace diml::test {

// `action` throws Error with one line that contains `why`.
template <class Action>
void expect_refused(Action action, const std::string& why) {
  try {
    action();
    ADD_FAILURE() << "not refused; expected: " << why;
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find(why), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

inline std::string golden(const std::string& name) {
  return std::string(DIML_WEIGHTS_FOLDER "/") + name;
}

}  // namespace diml::test
