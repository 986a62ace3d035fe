#include "free_memory.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace diml {
namespace {

namespace fs = std::filesystem;

// The number after `name` in a file of "name number" lines; that of the first line where there are
// no names.
std::optional<double> number_in(const fs::path& path, const std::string& name = "") {
  std::ifstream file(path);
  std::string word;
  double number = 0.0;
  if (name.empty()) return file >> number ? std::optional(number) : std::nullopt;
  while (file >> word) {
    if (word == name) return file >> number ? std::optional(number) : std::nullopt;
    file.ignore(4096, '\n');
  }
  return {};
}

// The files of the two versions of control groups.
struct Controller {
  const char* root;
  const char* limit;
  const char* usage;
  const char* cached;  // in memory.stat: file pages that the kernel gives up first
};
constexpr Controller kFirst{"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                            "memory.usage_in_bytes", "total_inactive_file"};
constexpr Controller kSecond{"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};

void lower_to(std::optional<double>& least, double bytes) {
  least = std::min(least.value_or(bytes), std::max(0.0, bytes));
}

// The limits of a group and of all groups above it apply.
void lower_to_limits(std::optional<double>& least, const Controller& controller,
                     const std::string& group) {
  for (fs::path path = group;; path = path.parent_path()) {
    const fs::path folder = controller.root + path.string();
    const std::optional<double> limit = number_in(folder / controller.limit);  // "max": none
    const std::optional<double> usage = number_in(folder / controller.usage);
    if (limit && usage) {
      const double cached = number_in(folder / "memory.stat", controller.cached).value_or(0.0);
      lower_to(least, *limit - *usage + cached);
    }
    if (!path.has_relative_path()) return;
  }
}

}  // namespace

std::optional<double> free_memory() {
  std::optional<double> least = number_in("/proc/meminfo", "MemAvailable:");
  if (least) *least *= 1024.0;
  std::ifstream groups("/proc/self/cgroup");  // "4:memory:/group", "0::/group"
  std::string line;
  while (std::getline(groups, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string kind = line.substr(first + 1, second - first - 1);
    if (kind == "memory") lower_to_limits(least, kFirst, line.substr(second + 1));
    if (kind.empty()) lower_to_limits(least, kSecond, line.substr(second + 1));
  }
  return least;
}

std::string bytes_text(double bytes) {
  constexpr std::array kUnits = {"bytes", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  for (; bytes >= 999.5 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000.0;
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f %s", bytes < 9.95 && unit > 0 ? 1 : 0, bytes,
                kUnits[unit]);
  return text;
}

}  // namespace diml
