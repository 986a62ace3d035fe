#include "failure.h"

#include <new>

#include "answers.h"
#include "refusal.h"

namespace diml::server {
namespace {

Failure failed(int status, const std::string& line, const std::string& cause,
               HeaderList headers = {}) {
  if (status == kBusy) headers.emplace_back("Retry-After", "1");
  if (status == 401) headers.emplace_back("WWW-Authenticate", "Bearer");
  return {{.status = status, .body = json_of(ErrorAnswer{line}), .headers = std::move(headers)},
          cause};
}

}  // namespace

int status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_input:
    case ErrorKind::unsupported:
      return 422;
    case ErrorKind::not_found:
      return 404;
    case ErrorKind::conflict:
      return 409;
    case ErrorKind::out_of_resources:
    case ErrorKind::cancelled:
      return kBusy;
    case ErrorKind::damaged:
    case ErrorKind::internal:
      break;
  }
  return 500;
}

Failure failure_of(const std::exception_ptr& thrown) {
  constexpr const char* kMistake = "internal error of the server: please report the request";
  try {
    std::rethrow_exception(thrown);
  } catch (const Refusal& refusal) {
    return failed(refusal.status(), refusal.line(), refusal.cause(), refusal.headers());
  } catch (const Error& error) {
    const bool ours = error.kind() == ErrorKind::internal;
    return failed(status_of(error.kind()), ours ? kMistake : error.what(), error.what());
  } catch (const std::bad_alloc&) {
    const char* line = "the server is out of memory: try again in a moment";
    return failed(kBusy, line, line);
  } catch (const std::exception& error) {
    return failed(500, kMistake, error.what());
  } catch (...) {
    return failed(500, kMistake, "an exception of unknown type");
  }
}

}  // namespace diml::server
