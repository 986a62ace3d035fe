#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "answers.h"
#include "requests.h"
#include "schemas.h"
#include "service.h"

namespace diml::server {

enum class Access {
  open,    // without a token: health, the page
  read,    // with the token, if there is one
  change,  // the same, and changes must be allowed
};

// Whether a request has to wait for others: those of monitoring have a thread of their own.
enum class Lane : std::uint8_t { common, monitoring };

// What the OpenAPI document says of a route besides its fields.
struct RouteWords {
  std::string summary{};
  Access access = Access::read;
  int success = 200;
  std::string answer_type = "application/json";
  Lane lane = Lane::common;
  std::vector<int> refusals{};  // besides 400, 401, 403, 500, 503, which every route may give
};

// Everything about a route in one place; used by the router, the OpenAPI document and its test.
struct Route {
  std::string method;
  std::string path;  // "/v1/items/{id}"
  RouteWords words;
  RequestInfo (*request)(const ServerParams&) = nullptr;
  Document (*answer)(AnswerSchemas&) = nullptr;  // null if the type is not JSON
  std::function<Reply(Service&, const Call&)> handle{};
};

// A reply with this answer, written on the thread that computed it.
template <class Answer>
struct Answered {
  explicit Answered(const Answer& answer) : reply{.body = json_of(answer)} {}
  Reply reply;
};

// Reads the request and computes the answer.
template <class Request, class Result>
Result handled(Result (*handle)(Service&, const Call&, const Request&), Service& service,
               const Call& call) {
  // Small bodies are parsed at once; waiting for a worker would take longer.
  constexpr std::size_t kSmall = 65536;
  const auto parsed = [&] { return Input(call); };
  const Input input = call.body.size() <= kSmall ? parsed() : service.work(call, parsed);
  const auto request = read_request<Request>(input, service.params);
  return handle(service, call, request);
}

// A route whose types define the request and the answer.
template <class Request, class Answer>
Route route(std::string method, std::string path,
            Answered<Answer> (*handle)(Service&, const Call&, const Request&), RouteWords words) {
  const int success = words.success;
  Route made{std::move(method), std::move(path), std::move(words), describe_request<Request>};
  made.answer = [](AnswerSchemas& schemas) { return schemas.of<Answer>(); };
  made.handle = [handle, success](Service& service, const Call& call) {
    Reply reply = handled(handle, service, call).reply;
    reply.status = success;
    return reply;
  };
  return made;
}

// A route whose answer is not JSON.
template <class Request>
Route route(std::string method, std::string path,
            Reply (*handle)(Service&, const Call&, const Request&), RouteWords words) {
  Route made{std::move(method), std::move(path), std::move(words), describe_request<Request>};
  made.handle = [handle](Service& service, const Call& call) {
    return handled(handle, service, call);
  };
  return made;
}

// One table for each file of routes; joined in routes().
std::vector<Route> health_routes();
std::vector<Route> search_routes();
std::vector<Route> compare_routes();
std::vector<Route> item_routes();
std::vector<Route> picture_routes();

const std::vector<Route>& routes();

// "GET, POST": what can be done with a path; "" if there is no such path.
std::string methods_of(const std::string& path);

// The route of a request. id: the value of {id}. Throws Refusal 404, or 405 if the path has other
// methods.
const Route& find_route(const std::string& method, const std::string& path, std::int64_t& id);

}  // namespace diml::server
