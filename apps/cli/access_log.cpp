#include "access_log.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/enum_names.h"
#include "base/system_error.h"
#include "command.h"

namespace diml::cli {
namespace {

constexpr EnumNames<3> kNames = {"off", "common", "json"};
constexpr auto kBetweenLooks = std::chrono::seconds(1);
constexpr auto kBetweenWarnings = std::chrono::seconds(60);

std::tm utc(std::chrono::system_clock::time_point when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return parts;
}

// Months in English, whatever the locale is.
std::string common_time(std::chrono::system_clock::time_point when) {
  constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::tm parts = utc(when);
  char text[64];
  std::snprintf(text, sizeof(text), "%02d/%s/%d:%02d:%02d:%02d +0000", parts.tm_mday,
                kMonths[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900,
                parts.tm_hour, parts.tm_min, parts.tm_sec);
  return text;
}

std::string json_time(std::chrono::system_clock::time_point when) {
  const std::tm parts = utc(when);
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(when.time_since_epoch()).count() % 1000;
  char text[64];
  std::snprintf(text, sizeof(text), "%d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>(milliseconds));
  return text;
}

std::string escaped(std::string_view text) {
  std::string made;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      made.append(1, '\\').append(1, c);
    } else if (byte < ' ' || byte >= 0x7f) {
      char code[8];
      std::snprintf(code, sizeof(code), "\\x%02x", byte);
      made += code;
    } else {
      made += c;
    }
  }
  return made;
}

std::string field(std::string_view text) { return text.empty() ? "-" : escaped(text); }

std::string common_line(const ServedRequest& request) {
  const std::string asked =
      request.method.empty()
          ? "-"
          : escaped(request.method + " " + request.target + " " + request.version);
  // An address that a proxy names could contain spaces.
  std::string client = field(request.client);
  for (char& c : client) c = c == ' ' ? '_' : c;
  return client + " - " + field(request.token) + " [" + common_time(request.arrived) + "] \"" +
         asked + "\" " + std::to_string(request.status) + " " +
         (request.bytes == 0 ? "-" : std::to_string(request.bytes)) + " " + field(request.id);
}

std::string json_line(const ServedRequest& request) {
  const auto text = [](const std::string& value) {
    return value.empty() ? Json(nullptr) : Json(value);
  };
  const Json line = {{"time", json_time(request.arrived)},
                     {"id", text(request.id)},
                     {"client", request.client},
                     {"token", text(request.token)},
                     {"method", text(request.method)},
                     {"target", text(request.target)},
                     {"version", text(request.version)},
                     {"status", request.status},
                     {"bytes", request.bytes},
                     {"seconds", request.seconds},
                     {"referer", text(request.referer)},
                     {"agent", text(request.agent)}};
  // Headers may hold any bytes; those that are not UTF-8 are replaced.
  return line.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace

const char* name_of(AccessLogFormat format) { return name_in(kNames, format); }

AccessLogFormat access_log_format_from(std::string_view name) {
  return value_in<AccessLogFormat>(kNames, name, "access log");
}

std::string access_line(AccessLogFormat format, const ServedRequest& request) {
  return format == AccessLogFormat::json ? json_line(request) : common_line(request);
}

AccessLog::AccessLog(AccessLogFormat format, std::string path, Warn warn)
    : format_(format), path_(std::move(path)), warn_(std::move(warn)) {
  if (path_.empty()) {
    file_ = STDERR_FILENO;
  } else if (!open()) {
    throw system_error(path_ + ": cannot be written", errno);
  }
}

AccessLog::~AccessLog() {
  if (file_ >= 0 && file_ != STDERR_FILENO) ::close(file_);
}

bool AccessLog::open() {
  const int opened = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
  if (opened < 0) return false;
  if (file_ >= 0) ::close(file_);
  file_ = opened;
  struct stat about {};
  inode_ = ::fstat(file_, &about) == 0 ? about.st_ino : 0;
  in_line_ = false;
  return true;
}

void AccessLog::follow_path() {
  if (path_.empty() || Clock::now() - looked_ < kBetweenLooks) return;
  looked_ = Clock::now();
  struct stat about {};
  // Where a new file cannot be made, the old one still takes lines.
  if (::stat(path_.c_str(), &about) != 0 || about.st_ino != inode_) (void)open();
}

void AccessLog::lose(int reason) {
  ++lost_;
  if (warned_ != Clock::time_point{} && Clock::now() - warned_ < kBetweenWarnings) return;
  warned_ = Clock::now();
  warn_("the access log cannot be written (" + std::string(std::strerror(reason)) +
        "): " + std::to_string(lost_) + " lines are lost so far; requests are answered as before");
}

void AccessLog::add(const ServedRequest& request) {
  follow_path();
  // One write for a line: lines of several processes do not mix. A line that was cut ends first.
  const std::string text = (in_line_ ? "\n" : "") + access_line(format_, request) + "\n";
  ssize_t count = 0;
  do {
    count = ::write(file_, text.data(), text.size());
  } while (count < 0 && errno == EINTR);
  if (count == static_cast<ssize_t>(text.size())) {
    in_line_ = false;
    return;
  }
  in_line_ = in_line_ || count > 0;
  lose(count < 0 ? errno : ENOSPC);
}

}  // namespace diml::cli
