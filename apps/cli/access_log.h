#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "diml/server.h"

namespace diml::cli {

// common: the Common Log Format, which log analysers read, and the request's id after it. json: one
// object per line, with more fields.
enum class AccessLogFormat : std::uint8_t { off, common, json };
const char* name_of(AccessLogFormat format);
AccessLogFormat access_log_format_from(std::string_view name);

// One line without its end. Control characters and quotes of the client are escaped, so that a
// request cannot forge lines.
std::string access_line(AccessLogFormat format, const ServedRequest& request);

// Appends lines to a file, or to standard error. The server goes on where they cannot be written:
// they are counted, and `warn` says so, at most once a minute. A file that was moved away is made
// anew within a second, so that logrotate needs no signal.
class AccessLog {
 public:
  using Warn = std::function<void(const std::string& line)>;

  // path: "" for standard error. Throws if the file cannot be opened.
  AccessLog(AccessLogFormat format, std::string path, Warn warn);
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  void add(const ServedRequest& request);

 private:
  using Clock = std::chrono::steady_clock;
  bool open();
  void follow_path();
  void lose(int reason);

  AccessLogFormat format_;
  std::string path_;
  Warn warn_;
  int file_ = -1;
  ino_t inode_ = 0;
  bool in_line_ = false;  // the last write ended in the middle of a line
  std::uint64_t lost_ = 0;
  Clock::time_point looked_{};
  Clock::time_point warned_{};
};

}  // namespace diml::cli
