#pragma once

#include <string>
#include <vector>

namespace diml::postgres {

// postgres://USER@HOST:PORT/DATABASE/GALLERY?PARAMETER=VALUE: what libpq takes, and one more part
// of the path. Every part but the gallery may be empty: libpq's environment, service file and
// password file say the rest.
struct Address {
  std::string database;  // the URL without the gallery: for libpq
  std::string gallery;
  std::string shown;                   // the address without passwords: for messages
  std::vector<std::string> secrets{};  // passwords that stand in it, which no message may have
};

// Whether it begins with postgres:// or postgresql://.
bool is_address(const std::string& name);

// Throws, without a password in the message, where it is none.
Address address_from(const std::string& text);

}  // namespace diml::postgres
