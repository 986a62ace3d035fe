#include "failure.h"

#include <array>
#include <new>
#include <string_view>
#include <utility>

#include "answers.h"
#include "base/shown_text.h"
#include "refusal.h"

namespace diml::server {
namespace {

Failure failed(int status, const std::string& line, const std::string& cause,
               HeaderList headers = {}) {
  if (status == kBusy) headers.emplace_back("Retry-After", "1");
  if (status == 401) headers.emplace_back("WWW-Authenticate", "Bearer");
  // Messages quote what clients have sent, whatever its bytes.
  std::string body = json_of(ErrorAnswer{shown_message(line)});
  return {{.status = status, .body = std::move(body), .headers = std::move(headers)}, cause};
}

// The library's word for a database that is away: its message names hosts.
bool is_unreachable(const Error& error) {
  return std::string_view(error.parameter()) == "database";
}

// Messages of a store begin with its name, or with that of a file in it.
std::string without_folder(const std::string& message, const std::string& folder) {
  if (folder.empty() || !message.starts_with(folder)) return message;
  const std::size_t end = message.find(": ");
  return "the gallery" + (end == std::string::npos ? "" : message.substr(end));
}

// What solves a problem, as the library calls it, and what clients send for that.
constexpr std::array kRemedies = {
    std::pair{"duplicates", " (in a request: duplicates=replace)"},
    std::pair{"list_items", " (in a request: GET /v1/items)"},
};

std::string with_remedy(const Error& error) {
  for (const auto& [parameter, in_request] : kRemedies) {
    if (std::string_view(error.parameter()) == parameter) {
      return error.what() + std::string(in_request);
    }
  }
  return error.what();
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

Failure failure_of(const std::exception_ptr& thrown, const std::string& gallery) {
  constexpr const char* kDamage =
      "stored data of the gallery is damaged: the log of the server says which";
  constexpr const char* kAway =
      "the gallery's database cannot be reached at present: try again in a moment";
  constexpr const char* kMistake = "internal error of the server: please report the request";
  try {
    std::rethrow_exception(thrown);
  } catch (const Refusal& refusal) {
    return failed(refusal.status(), refusal.line(), refusal.cause(), refusal.headers());
  } catch (const Error& error) {
    const std::string line = error.kind() == ErrorKind::internal  ? kMistake
                             : error.kind() == ErrorKind::damaged ? kDamage
                             : is_unreachable(error)              ? kAway
                                                     : without_folder(with_remedy(error), gallery);
    return failed(status_of(error.kind()), line, error.what());
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
