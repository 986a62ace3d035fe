#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace diml::server {

// Counts and latencies of answers, in the format of Prometheus.
class Metrics {
 public:
  // route: of the table, "/v1/items/{id}", or "other".
  void count(const std::string& method, const std::string& route, int status, double seconds);
  std::string text() const;

  // One line with its type and meaning, for values that are read on request.
  static std::string line(const std::string& name, const std::string& type,
                          const std::string& meaning, double value);

 private:
  static constexpr std::array kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                         0.25,  0.5,    1.0,   2.5,  5.0,   10.0};
  struct Latency {
    std::array<std::uint64_t, kBounds.size() + 1> buckets{};
    double sum = 0.0;
  };

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::uint64_t> answered_;  // labels, status
  std::map<std::string, Latency> latency_;                         // by labels
};

// Of this process, in bytes.
double resident_memory();

}  // namespace diml::server
