#include "http_server.h"

#include "failure.h"
#include "gate.h"
#include "page.h"
#include "routes.h"

namespace diml::server {
namespace {

// Seconds that a client gets to take its last answer in. One thread refuses all who are too many.
constexpr double kLinger = 2.0;
constexpr double kRefusedLinger = 0.02;
constexpr const char* kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

// Takes room for a body out of what all bodies together may have.
class BodyRoom {
 public:
  explicit BodyRoom(Service& service) : service_(service) {}
  ~BodyRoom() { service_.body_bytes -= taken_; }
  BodyRoom(const BodyRoom&) = delete;
  BodyRoom& operator=(const BodyRoom&) = delete;

  // Throws Refusal.
  void take(std::size_t bytes) {
    taken_ += bytes;
    if ((service_.body_bytes += bytes) > service_.params.limits.bodies) {
      throw Refusal(kBusy, "too many large requests at once: try again in a moment");
    }
  }

 private:
  Service& service_;
  std::size_t taken_ = 0;
};

HttpServer::HttpServer(Service& service)
    : service_(service),
      listener_(service.params.host, service.params.port),
      pool_(
          service.params.limits.connections, [this](int socket) { serve(socket); },
          [this](int socket) { refuse(socket); }),
      acceptor_([this] {
        listener_.accept_until(service_.stopping, [this](int socket) { pool_.enqueue(socket); });
      }) {}

HttpServer::~HttpServer() { stop(); }

void HttpServer::stop() {
  service_.stopping = true;
  if (acceptor_.joinable()) acceptor_.join();
  pool_.shutdown();
}

void HttpServer::refuse(int socket) {
  Connection connection(socket, service_.params.limits, service_.stopping);
  const Refusal crowd(kBusy, "too many connections: try again in a moment");
  const Failure failure = failure_of(std::make_exception_ptr(crowd));
  connection.begin_answer();
  connection.write(head_of(failure.reply, HttpVersion::http_1_1, Afterwards::close),
                   failure.reply.body);
  service_.metrics.count("any", "other", kBusy, 0.0);
  service_.log("- - 503: " + failure.cause);
  connection.close(kRefusedLinger);
}

void HttpServer::serve(int socket) {
  Connection connection(socket, service_.params.limits, service_.stopping);
  ++service_.connections;
  try {
    while (connection.wait_for_request() && answer_one(connection) == Afterwards::next_request) {
    }
    connection.close(kLinger);
  } catch (const std::exception& error) {
    // Not even memory for an answer: the connection is cut.
    service_.log(std::string("- - 503: ") + error.what());
  }
  --service_.connections;
}

Afterwards HttpServer::answer_one(Connection& connection) {
  const auto start = Clock::now();
  RequestParser parser(service_.params.limits);
  Head head;
  std::string name = "other";
  Reply reply;
  std::string cause;
  bool is_framed = false;
  try {
    const std::string text = connection.read_head();
    if (text.empty()) return Afterwards::close;
    head = parser.take_head(text);
    is_framed = true;
    reply = reply_to(head, parser, connection, name);
  } catch (...) {
    Failure failure = failure_of(std::current_exception());
    reply = std::move(failure.reply);
    cause = std::move(failure.cause);
  }
  const std::string method = name == "other" ? "any" : head.method;
  service_.metrics.count(method, name, reply.status, seconds_since(start));
  if (reply.status == kGone) return Afterwards::close;
  if (reply.status >= 500) {
    const std::string what = is_framed ? head.method + " " + head.path() : "- -";
    service_.log(what + " " + std::to_string(reply.status) + ": " + cause);
  }
  // Where a request was not read to its end, the next one would begin in its middle.
  const bool goes_on = is_framed && head.keep_alive && parser.is_whole() && !service_.stopping;
  const Afterwards afterwards = goes_on ? Afterwards::next_request : Afterwards::close;
  connection.begin_answer();
  const bool is_sent =
      connection.write(head_of(reply, head.version, afterwards),
                       head.method == "HEAD" ? std::string_view() : std::string_view(reply.body));
  return is_sent ? afterwards : Afterwards::close;
}

Reply HttpServer::reply_to(const Head& head, RequestParser& parser, Connection& connection,
                           std::string& name) {
  Call call;
  const Route* route = admit(head, service_.params, call.id);
  call.known_tag = head.header("if-none-match");
  if (route == nullptr) {
    name = head.path();
    return page_reply(*find_page_file(name), call.known_tag);
  }
  name = route->path;
  BodyRoom room(service_);
  call.body = read_body(head, parser, connection, room);
  call.query = head.query();
  call.content_type = head.header("content-type");
  call.patience = {after(service_.params.limits.answer_seconds),
                   [&connection] { return connection.client_is_gone(); }};
  return route->handle(service_, call);
}

std::string HttpServer::read_body(const Head& head, RequestParser& parser, Connection& connection,
                                  BodyRoom& room) {
  if (head.expects_continue && connection.unread().empty()) connection.write(kContinue);
  while (!parser.is_whole()) {
    const std::size_t taken = parser.take_body(connection.unread());
    room.take(taken);
    connection.take(taken);
    if (!parser.is_whole() && !connection.receive()) {
      throw Refusal(400, "the body is cut off");
    }
  }
  return parser.take_text();
}

}  // namespace diml::server
