#pragma once

#include <exception>
#include <string>

#include "call.h"
#include "diml/error.h"

namespace diml::server {

// The HTTP status of each kind of error, wherever a route does not know better.
int status_of(ErrorKind kind);

// What became of a request that threw.
struct Failure {
  Reply reply;        // what the client is told
  std::string cause;  // what the log is told: the error's own words
};
Failure failure_of(const std::exception_ptr& thrown);

}  // namespace diml::server
