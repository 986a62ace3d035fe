#include "openapi.h"

#include <algorithm>

#include "base/lower_case.h"
#include "diml/version.h"
#include "routes.h"

namespace diml::server {
namespace {

const char* meaning_of(int status) {
  switch (status) {
    case 400:
      return "The request is malformed";
    case 401:
      return "The token is missing or wrong";
    case 403:
      return "The request is from a page of another site, or changes are not allowed, or not with "
             "this token";
    case 404:
      return "There is no such item";
    case 408:
      return "The request took too long to arrive";
    case 409:
      return "An item with that path already exists";
    case 413:
      return "The body or the image is too large";
    case 415:
      return "The content type is not supported";
    case 422:
      return "The request is valid, but cannot be carried out";
    case 429:
      return "This address has sent too many wrong tokens: try again in a second";
    case 507:
      return "There is no room for changes on the server's disk: nothing was changed";
    case 500:
      return "Stored data is damaged, or an internal error";
    default:
      return "The server is overloaded: try again";
  }
}

Document responses_of(const Route& route, bool has_body, AnswerSchemas& schemas) {
  const RouteWords& words = route.words;
  const Document schema =
      route.answer != nullptr ? route.answer(schemas) : Document{{"type", "string"}};
  Document responses = Document::object();
  responses[std::to_string(words.success)] = {
      {"description", "Done"}, {"content", {{words.answer_type, {{"schema", schema}}}}}};
  std::vector<int> refusals = words.refusals;
  refusals.insert(refusals.end(), {400, 500, 503});
  if (words.access != Access::open) refusals.insert(refusals.end(), {401, 403, 429});
  if (has_body) refusals.insert(refusals.end(), {408, 413, 415, 422});
  std::sort(refusals.begin(), refusals.end());
  refusals.erase(std::unique(refusals.begin(), refusals.end()), refusals.end());
  for (const int status : refusals) {
    responses[std::to_string(status)] = {
        {"description", meaning_of(status)},
        {"content", {{"application/json", {{"schema", schemas.of<ErrorAnswer>()}}}}}};
  }
  return responses;
}

Document operation_of(const Route& route, const ServerParams& params, AnswerSchemas& schemas) {
  const RequestInfo request = route.request(params);
  Document parameters = parameters_of(request);
  if (route.path.find("{id}") != std::string::npos) {
    parameters.push_back({{"name", "id"},
                          {"in", "path"},
                          {"required", true},
                          {"schema", {{"type", "integer"}, {"minimum", 0}}}});
  }
  const Document content = content_of(request);
  if (content.contains("application/json")) {
    schemas.all[request.name] = object_schema(request.fields);
  }
  Document operation = {{"summary", route.words.summary}};
  if (!parameters.empty()) operation["parameters"] = parameters;
  if (!content.empty()) operation["requestBody"] = {{"required", true}, {"content", content}};
  operation["responses"] = responses_of(route, !content.empty(), schemas);
  if (route.words.access == Access::open) operation["security"] = Document::array();
  return operation;
}

template <class Object>
Document object_schema_of() {
  FieldDescriber describer;
  Object{}.list(describer);
  return object_schema(describer.fields);
}

// Schemas that requests refer to.
void put_down_subjects(Document& schemas) {
  schemas[ItemReference::kName] = object_schema_of<ItemReference>();
  schemas[GridInput::kName] = object_schema_of<GridInput>();
  schemas["Subject"] = {
      {"description", "An image of the gallery by its id, or a grid of another program"},
      {"oneOf",
       {{{"type", "integer"}},
        reference_to(ItemReference::kName),
        reference_to(GridInput::kName)}}};
}

}  // namespace

Document openapi_document(const ServerParams& params) {
  AnswerSchemas schemas;
  put_down_subjects(schemas.all);
  Document paths = Document::object();
  for (const Route& route : routes()) {
    paths[route.path][lower_case(route.method)] = operation_of(route, params, schemas);
  }
  return {{"openapi", "3.0.3"},
          {"info",
           {{"title", "diml"},
            {"version", kVersion},
            {"description", "Image similarity that can say why: a gallery over HTTP."}}},
          {"security", Document::array({{{"bearer", Document::array()}}, Document::object()})},
          {"paths", paths},
          {"components",
           {{"schemas", schemas.all},
            {"securitySchemes", {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

std::string openapi_text(const ServerParams& params) { return openapi_document(params).dump(2); }

}  // namespace diml::server
