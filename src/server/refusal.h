#pragma once

#include <exception>
#include <string>
#include <utility>

namespace diml::server {

// An answer other than 200: an HTTP status, and one line that says what to do.
class Refusal : public std::exception {
 public:
  Refusal(int status, std::string line) : status_(status), line_(std::move(line)) {}

  int status() const { return status_; }
  const std::string& line() const { return line_; }
  const char* what() const noexcept override { return line_.c_str(); }

 private:
  int status_;
  std::string line_;
};

// {"error": "..."}
std::string error_json(const std::string& line);

// Refused because there is too much to do: clients may try again after a second.
constexpr int kBusy = 503;

}  // namespace diml::server
