#include "metrics.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include <unistd.h>

namespace diml::server {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

}  // namespace

void Metrics::count(const std::string& method, const std::string& route, int status,
                    double seconds) {
  const std::string labels = "method=\"" + method + "\",route=\"" + route + "\"";
  const auto place = std::lower_bound(kBounds.begin(), kBounds.end(), seconds) - kBounds.begin();
  const std::lock_guard lock(mutex_);
  ++answered_[{labels, status}];
  Latency& latency = latency_[labels];
  ++latency.buckets[static_cast<std::size_t>(place)];
  latency.sum += seconds;
}

std::string Metrics::text() const {
  const std::lock_guard lock(mutex_);
  std::string text =
      "# HELP diml_requests_total Answered requests.\n"
      "# TYPE diml_requests_total counter\n";
  for (const auto& [key, count] : answered_) {
    text += "diml_requests_total{" + key.first + ",status=\"" + std::to_string(key.second) +
            "\"} " + std::to_string(count) + "\n";
  }
  text +=
      "# HELP diml_request_seconds From a request's head to the end of its answer.\n"
      "# TYPE diml_request_seconds histogram\n";
  for (const auto& [labels, latency] : latency_) {
    std::uint64_t sum = 0;
    for (std::size_t b = 0; b < latency.buckets.size(); ++b) {
      sum += latency.buckets[b];
      const std::string bound = b < kBounds.size() ? number(kBounds[b]) : "+Inf";
      text.append("diml_request_seconds_bucket{").append(labels).append(",le=\"").append(bound);
      text.append("\"} ").append(std::to_string(sum)).append("\n");
    }
    text += "diml_request_seconds_sum{" + labels + "} " + number(latency.sum) + "\n";
    text += "diml_request_seconds_count{" + labels + "} " + std::to_string(sum) + "\n";
  }
  return text;
}

std::string Metrics::line(const std::string& name, const std::string& type,
                          const std::string& meaning, double value) {
  return "# HELP " + name + " " + meaning + "\n# TYPE " + name + " " + type + "\n" + name + " " +
         number(value) + "\n";
}

double resident_memory() {
  std::ifstream file("/proc/self/statm");
  double size = 0.0;
  double resident = 0.0;
  file >> size >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace diml::server
