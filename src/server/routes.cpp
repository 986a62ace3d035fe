#include "routes.h"

#include <charconv>

namespace diml::server {
namespace {

constexpr std::string_view kId = "{id}";

// Whether the path is the pattern's, with digits where it says {id}.
bool fits(const std::string& pattern, const std::string& path, std::int64_t& id) {
  const std::size_t at = pattern.find(kId);
  if (at == std::string::npos) return pattern == path;
  const std::string tail = pattern.substr(at + kId.size());
  if (path.size() <= at + tail.size() || path.compare(0, at, pattern, 0, at) != 0 ||
      path.compare(path.size() - tail.size(), tail.size(), tail) != 0) {
    return false;
  }
  const char* first = path.data() + at;
  const char* end = path.data() + path.size() - tail.size();
  const auto [stopped, error] = std::from_chars(first, end, id);
  return error == std::errc() && stopped == end && *first != '-';
}

std::vector<Route> joined() {
  std::vector<Route> all;
  for (const auto& table : {search_routes(), compare_routes(), item_routes(), health_routes()}) {
    all.insert(all.end(), table.begin(), table.end());
  }
  return all;
}

}  // namespace

const std::vector<Route>& routes() {
  static const std::vector<Route> all = joined();
  return all;
}

const Route& find_route(const std::string& method, const std::string& path, std::int64_t& id) {
  // HEAD is GET without the body, which is left out when the answer is sent.
  const std::string wanted = method == "HEAD" ? "GET" : method;
  std::string others;
  for (const Route& route : routes()) {
    if (!fits(route.path, path, id)) continue;
    if (route.method == wanted) return route;
    others += (others.empty() ? "" : ", ") + route.method;
  }
  if (!others.empty()) {
    throw Refusal(405, method + " is not for this path: " + others, {{"Allow", others}});
  }
  throw Refusal(404, "there is no such path: GET /openapi.json has all of them");
}

}  // namespace diml::server
