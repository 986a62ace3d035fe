#pragma once

#include <functional>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "diml/error.h"

namespace diml::test {

// The one-line message of the Error that `call` throws.
inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  return "nothing was thrown";
}

// `action` throws Error, of that kind if one is given, with one line that contains `why`.
template <class Action>
void expect_refused(Action action, const std::string& why, std::optional<ErrorKind> kind = {}) {
  try {
    action();
    ADD_FAILURE() << "not refused; expected: " << why;
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find(why), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    if (kind) {
      EXPECT_STREQ(name_of(error.kind()), name_of(*kind)) << message;
    }
  }
}

}  // namespace diml::test
