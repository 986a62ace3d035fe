#pragma once

#include <string>
#include <vector>

namespace diml::test {

// A request that one reader may end earlier or later than another.
struct FramingTrick {
  std::string name;
  std::string bytes;
};

// What an attacker hides behind a trick.
inline const std::string kHidden = "DELETE /v1/items/1 HTTP/1.1\r\nHost: localhost\r\n\r\n";

// None of them makes what follows a request of its own.
std::vector<FramingTrick> framing_tricks();

}  // namespace diml::test
