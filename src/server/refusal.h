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
  // cause: for the log, if there is more to say than the client may know.
  Refusal(int status, std::string line, HeaderList headers = {}, std::string cause = "")
      : status_(status),
        line_(std::move(line)),
        headers_(std::move(headers)),
        cause_(std::move(cause)) {}

  int status() const { return status_; }
  const std::string& line() const { return line_; }
  const std::string& cause() const { return cause_.empty() ? line_ : cause_; }
  const HeaderList& headers() const { return headers_; }
  const char* what() const noexcept override { return line_.c_str(); }

 private:
  int status_;
  std::string line_;
  HeaderList headers_;
  std::string cause_;
};

// Refused because of overload: clients may try again after a second.
constexpr int kBusy = 503;
// The client disconnected before the answer. Never sent, only counted; the code is nginx's.
constexpr int kGone = 499;

}  // namespace diml::server
