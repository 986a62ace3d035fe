#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "patience.h"

namespace diml::server {

// A request as the routes see it: complete, within the limits, admitted.
struct Call {
  std::map<std::string, std::string> query;
  std::int64_t id = -1;  // if the route has {id}
  std::string content_type;
  std::string body;
  std::string known_tag;    // If-None-Match
  bool may_change = false;  // whether the one who asks may change items here
  Patience patience;
};

using HeaderList = std::vector<std::pair<std::string, std::string>>;

struct Reply {
  int status = 200;
  std::string type = "application/json";
  std::string body{};
  HeaderList headers{};
};

}  // namespace diml::server
