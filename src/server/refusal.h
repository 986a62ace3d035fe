#pragma once

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "call.h"

namespace diml::server {

// An answer other than 200: an HTTP status, and one line that says what to do.
class Refusal : public std::exception {
 public:
  Refusal(int status, std::string line, HeaderList headers = {})
      : status_(status), line_(std::move(line)), headers_(std::move(headers)) {}

  int status() const { return status_; }
  const std::string& line() const { return line_; }
  const HeaderList& headers() const { return headers_; }
  const char* what() const noexcept override { return line_.c_str(); }

 private:
  int status_;
  std::string line_;
  HeaderList headers_;
};

// Refused because there is too much to do: clients may try again after a second.
constexpr int kBusy = 503;
// The client went away before it was answered. Never sent, only counted; the number is nginx's.
constexpr int kGone = 499;

}  // namespace diml::server
