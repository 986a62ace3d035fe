#pragma once

#include <exception>
#include <string>

#include "call.h"
#include "diml/error.h"

namespace diml::server {

// The HTTP status of each kind of error, unless a route sets its own.
int status_of(ErrorKind kind);

// The result of a request that threw.
struct Failure {
  Reply reply;        // the answer to the client
  std::string cause;  // for the log: the error's message
};
// gallery: the name of the store, which clients are not told: it is a folder of this machine.
Failure failure_of(const std::exception_ptr& thrown, const std::string& gallery = "");

}  // namespace diml::server
