#include "openapi.h"

#include <algorithm>

#include "diml/version.h"
#include "routes.h"
#include "schemas.h"

namespace diml::server {
namespace {

const char* meaning_of(int status) {
  switch (status) {
    case 400:
      return "The request is malformed";
    case 401:
      return "The token is missing or wrong";
    case 403:
      return "Another site asked, or changes are not allowed";
    case 404:
      return "There is no such item";
    case 408:
      return "The request took too long to arrive";
    case 409:
      return "An item of that path is there already";
    case 413:
      return "The body or the image is too large";
    case 415:
      return "The body is of no type that is understood";
    case 422:
      return "The request is well-formed, but cannot be done";
    default:
      return "There is too much to do: try again";
  }
}

Json responses_of(const Route& route) {
  Json responses = Json::object();
  Json content = Json::object();
  if (!route.answer.empty()) {
    content[route.answer_type] = {{"schema", schema_ref(route.answer)}};
  } else {
    content[route.answer_type] = {{"schema", {{"type", "string"}}}};
  }
  responses[std::to_string(route.success)] = {{"description", "Done"}, {"content", content}};
  std::vector<int> refusals = route.refusals;
  if (route.access != Access::open) refusals.insert(refusals.end(), {400, 401, 403, 503});
  if (!route.request.is_null()) refusals.insert(refusals.end(), {408, 413, 415, 422});
  std::sort(refusals.begin(), refusals.end());
  refusals.erase(std::unique(refusals.begin(), refusals.end()), refusals.end());
  for (const int status : refusals) {
    responses[std::to_string(status)] = {
        {"description", meaning_of(status)},
        {"content", {{"application/json", {{"schema", schema_ref("Error")}}}}}};
  }
  return responses;
}

Json operation_of(const Route& route) {
  Json parameters = route.parameters;
  if (route.path.find("{id}") != std::string::npos) {
    parameters.push_back({{"name", "id"},
                          {"in", "path"},
                          {"required", true},
                          {"schema", {{"type", "integer"}, {"minimum", 0}}}});
  }
  Json operation = {{"summary", route.summary}};
  if (!parameters.empty()) operation["parameters"] = parameters;
  if (!route.request.is_null()) {
    operation["requestBody"] = {{"required", true}, {"content", route.request}};
  }
  operation["responses"] = responses_of(route);
  if (route.access == Access::open) operation["security"] = Json::array();
  return operation;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

Json openapi_document() {
  Json paths = Json::object();
  for (const Route& route : routes()) paths[route.path][lower(route.method)] = operation_of(route);
  return {{"openapi", "3.0.3"},
          {"info",
           {{"title", "diml"},
            {"version", kVersion},
            {"description", "Image similarity that can say why: a gallery over HTTP."}}},
          {"security", Json::array({{{"bearer", Json::array()}}, Json::object()})},
          {"paths", paths},
          {"components",
           {{"schemas", schemas()},
            {"securitySchemes", {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

}  // namespace diml::server
