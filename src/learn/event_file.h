#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace diml::learn {

// CRC-32C (Castagnoli).
std::uint32_t crc32c(std::string_view data);

// A record of a TFRecord file: length, its checksum, the data, their checksum.
std::string tf_record(std::string_view data);

// TensorFlow's Event message with its content: the file's version, or one number.
std::string version_event(double wall_time);
std::string scalar_event(double wall_time, std::int64_t step, std::string_view tag, float value);

// Curves for TensorBoard, which reads every event file of a folder as one run.
class EventFile {
 public:
  // seconds: since 1970, now. append: continue the folder's last event file, where there is one; a
  // truncated record at its end is dropped, as readers would stop at it.
  EventFile(const std::string& folder, double seconds, bool append = false);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // Kept in memory until flush().
  void scalar(std::string_view tag, std::int64_t step, double value);
  void flush();

  const std::string& path() const { return path_; }

 private:
  void create(const std::string& folder);
  void continue_with(const std::string& path);
  [[noreturn]] void fail(const char* what) const;

  double started_seconds_;
  std::chrono::steady_clock::time_point started_;
  std::string path_;
  int descriptor_ = -1;
  std::string pending_;
};

}  // namespace diml::learn
