#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/architecture.h"

namespace diml {

// A family of networks: one file that describes its members.
struct Family {
  // Members that have a name, the common ones first.
  std::vector<std::string> (*names)();
  // Whether make() understands this name, which may be a description.
  bool (*knows)(std::string_view name);
  Architecture (*make)(std::string_view name, StridePlace stride);
};

namespace resnet {
std::vector<std::string> names();
bool knows(std::string_view name);
Architecture make(std::string_view name, StridePlace stride);
}  // namespace resnet

namespace vit {
std::vector<std::string> names();
bool knows(std::string_view name);
Architecture make(std::string_view name, StridePlace stride);
}  // namespace vit

}  // namespace diml
