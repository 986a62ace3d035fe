#include "routes.h"

#include <charconv>

namespace diml::server {
namespace {

constexpr std::string_view kId = "{id}";

// Whether the path matches the pattern, with digits for {id}.
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
  for (const auto& table :
       {search_routes(), compare_routes(), item_routes(), picture_routes(), health_routes()}) {
    all.insert(all.end(), table.begin(), table.end());
  }
  return all;
}

}  // namespace

const std::vector<Route>& routes() {
  static const std::vector<Route> all = joined();
  return all;
}

std::string methods_of(const std::string& path) {
  std::string methods;
  std::int64_t id = 0;
  for (const Route& route : routes()) {
    if (fits(route.path, path, id)) methods += (methods.empty() ? "" : ", ") + route.method;
  }
  return methods;
}

const Route& find_route(const std::string& method, const std::string& path, std::int64_t& id) {
  // HEAD is handled as GET; the body is left out when the answer is sent.
  const std::string wanted = method == "HEAD" ? "GET" : method;
  for (const Route& route : routes()) {
    if (fits(route.path, path, id) && route.method == wanted) return route;
  }
  if (const std::string others = methods_of(path); !others.empty()) {
    throw Refusal(405, method + " is not supported for this path: " + others, {{"Allow", others}});
  }
  throw Refusal(404, "there is no such path: GET /openapi.json lists all of them");
}

}  // namespace diml::server
