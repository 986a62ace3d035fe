#pragma once

#include <string>
#include <vector>

#include "call.h"
#include "service.h"

namespace diml::server {

enum class Access {
  open,    // for everybody: health, the page
  read,    // with the token, where there is one
  change,  // the same, and where changes are allowed
};

// Everything about a route in one place: the router, the OpenAPI document and its test go by it.
struct Route {
  std::string method;
  std::string path;  // "/v1/items/{id}"
  Access access = Access::read;
  std::string summary{};
  Json parameters = Json::array();  // OpenAPI's, without those in the path
  Json request = nullptr;           // content by type, or null where there is no body
  int success = 200;
  std::string answer_type = "application/json";
  std::string answer{};         // the schema's name, or "" for other types
  std::vector<int> refusals{};  // besides 400, 401, 403, 503, which any may give
  Reply (*handle)(Service&, const Call&) = nullptr;
};

// One table for each file of routes; joined in routes().
std::vector<Route> health_routes();
std::vector<Route> search_routes();
std::vector<Route> compare_routes();
std::vector<Route> item_routes();

const std::vector<Route>& routes();

// The route of a request. id: what stands for {id}. Throws Refusal 404, or 405 where another method
// would do.
const Route& find_route(const std::string& method, const std::string& path, std::int64_t& id);

Reply json_reply(const Json& json, int status = 200);

}  // namespace diml::server
