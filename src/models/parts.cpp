#include "parts.h"

namespace diml {

std::vector<std::size_t> parts_of(const Architecture& architecture) {
  std::vector<std::size_t> parts;
  std::size_t part = 0;
  for (const Operation& operation : architecture.operations) {
    parts.push_back(part);
    if (!operation.tap.empty()) ++part;
  }
  return parts;
}

}  // namespace diml
