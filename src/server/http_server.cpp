#include "http_server.h"

#include <algorithm>

#include "cors.h"
#include "failure.h"
#include "gate.h"
#include "page.h"
#include "request_id.h"

namespace diml::server {
namespace {

constexpr const char* kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr const char* kUnix = "unix";
constexpr double kBetweenLines = 1.0;

Listener listener_for(const ServerParams& params) {
  if (!params.socket.empty()) return Listener(params.socket);
  return Listener(params.host, params.port);
}

Lane lane_of(const Exchange& exchange) {
  const bool is_monitoring = !exchange.failure && exchange.route != nullptr &&
                             exchange.route->words.lane == Lane::monitoring;
  return is_monitoring ? Lane::monitoring : Lane::common;
}

std::size_t sent_of_body(const Exchange& exchange) {
  return std::max(exchange.sent, exchange.answer_head.size()) - exchange.answer_head.size();
}

}  // namespace

HttpServer::HttpServer(Service& service)
    : service_(service),
      listener_(listener_for(service.params)),
      threads_(service.params.limits.requests,
               [this](std::unique_ptr<Visit> visit) {
                 try {
                   reply(std::move(visit));
                 } catch (...) {
                   service_.note_last_resort("no memory for an answer");
                 }
               }),
      front_(listener_, service.params.limits, *this) {}

HttpServer::~HttpServer() { stop(); }

void HttpServer::stop() {
  service_.stop_within(service_.params.limits.stop_seconds);
  front_.stop_receiving();
  threads_.shutdown();
  front_.finish();
}

bool HttpServer::is_proxy(const std::string& peer) const {
  const std::vector<std::string>& proxies = service_.params.trusted_proxies;
  return peer == kUnix || std::find(proxies.begin(), proxies.end(), peer) != proxies.end();
}

std::unique_ptr<Exchange> HttpServer::begin() {
  return std::make_unique<Exchange>(service_.params.limits, service_.bodies);
}

bool HttpServer::arrived(Visit& visit) {
  try {
    if (take_request(visit)) {
      visit.exchange->call.patience.deadline = after(service_.params.limits.answer_seconds);
      return true;
    }
    if (visit.has_ended) throw Refusal(400, "the request is incomplete");
    return false;
  } catch (...) {
    visit.exchange->failure = std::current_exception();
    return true;
  }
}

bool HttpServer::take_request(Visit& visit) {
  Exchange& exchange = *visit.exchange;
  if (visit.stage == Visit::Stage::head) {
    const auto text = visit.connection.take_head(service_.params.limits.head);
    if (!text) return false;
    take_head(visit, *text);
    visit.stage = Visit::Stage::body;
    const bool waits = exchange.head.expects_continue && visit.connection.unread().empty();
    if (waits && !exchange.reply) (void)visit.connection.write(kContinue);
  }
  if (!exchange.reply) take_body(visit);
  return exchange.reply || exchange.parser.is_whole();
}

void HttpServer::take_head(Visit& visit, const std::string& text) {
  Exchange& exchange = *visit.exchange;
  const ServerParams& params = service_.params;
  exchange.head = exchange.parser.take_head(text);
  exchange.is_framed = true;
  const Head& head = exchange.head;
  exchange.client = client_of(visit.connection.peer(), head, params.trusted_proxies);
  exchange.call.patience.client = Guests::party_of(exchange.client);
  if (const std::string id = head.header("x-request-id"); is_request_id(id)) exchange.id = id;
  exchange.reply = preflight_reply(head, params, service_.keys.any());
  if (exchange.reply) return;
  Admitted admitted = admit(head, params, service_.keys, exchange.call.patience.client);
  exchange.route = admitted.route;
  exchange.call.id = admitted.id;
  exchange.token = std::move(admitted.token);
  exchange.call.may_change = admitted.may_change;
  exchange.call.known_tag = head.header("if-none-match");
  if (exchange.route == nullptr) {
    exchange.name = head.path();
    exchange.reply = page_reply(*find_page_file(exchange.name), exchange.call.known_tag);
    return;
  }
  exchange.name = exchange.route->path;
  exchange.call.query = head.query();
  exchange.call.content_type = head.header("content-type");
}

// Slow clients cost no thread, but memory: a body comes at a rate, after the first seconds.
void HttpServer::take_body(Visit& visit) {
  Exchange& exchange = *visit.exchange;
  while (!exchange.parser.is_whole() && !visit.connection.unread().empty()) {
    const std::size_t taken = exchange.parser.take_body(visit.connection.unread());
    exchange.room->take(exchange.call.patience.client, taken);
    visit.connection.take(taken);
    exchange.body_bytes += taken;
  }
  visit.connection.tidy();
  const ServerLimits& limits = service_.params.limits;
  const auto bytes = static_cast<double>(exchange.body_bytes);
  const auto rate = static_cast<double>(std::max<std::size_t>(limits.body_rate, 1));
  const std::chrono::duration<double> allowed(
      std::min(limits.receive_seconds, limits.body_seconds + bytes / rate));
  visit.deadline = exchange.start + std::chrono::duration_cast<Clock::duration>(allowed);
}

bool HttpServer::is_monitoring(const Visit& visit) const {
  return lane_of(*visit.exchange) == Lane::monitoring;
}

void HttpServer::late(Visit& visit) {
  const Refusal slow(408, "the request took too long to arrive");
  visit.exchange->failure = std::make_exception_ptr(slow);
}

void HttpServer::answer(std::unique_ptr<Visit> visit) {
  Exchange& exchange = *visit->exchange;
  if (exchange.client.empty()) exchange.client = visit->connection.peer();
  std::string& turn = exchange.call.patience.client;
  if (turn.empty()) turn = visit->party;
  threads_.enqueue(lane_of(exchange), std::move(visit));
}

// No place, not even for one who waits: one write, and no thread.
std::string HttpServer::refusal() {
  ++service_.refused_connections;
  service_.metrics.count("any", "other", kBusy, 0.0);
  if (seconds_since(told_) >= kBetweenLines) {
    const std::size_t all = service_.refused_connections;
    service_.log("- - 503: too many connections: " + std::to_string(all - told_refused_) +
                 " clients were refused");
    told_ = Clock::now();
    told_refused_ = all;
  }
  const Refusal crowd(kBusy, "too many connections: try again in a moment");
  const Failure failure = failure_of(std::make_exception_ptr(crowd));
  return head_of(failure.reply, HttpVersion::http_1_1, Afterwards::close, make_request_id()) +
         failure.reply.body;
}

void HttpServer::count_sent_away() { ++service_.closed_connections; }

void HttpServer::lost() noexcept { service_.note_last_resort("no memory to serve a connection"); }

void HttpServer::note_open(std::size_t connections) { service_.connections = connections; }

Reply HttpServer::reply_to(Exchange& exchange) {
  if (exchange.failure) std::rethrow_exception(exchange.failure);
  if (exchange.reply) return std::move(*exchange.reply);
  exchange.call.body = exchange.parser.take_text();
  return exchange.route->handle(service_, exchange.call);
}

void HttpServer::reply(std::unique_ptr<Visit> visit) {
  Exchange& exchange = *visit->exchange;
  const Head& head = exchange.head;
  if (exchange.id.empty()) exchange.id = make_request_id();
  exchange.call.patience.client_is_gone = [&connection = visit->connection] {
    return connection.client_is_gone();
  };
  exchange.call.patience.server_ends = [this] { return service_.ends(); };
  Reply reply;
  std::string cause;
  try {
    reply = reply_to(exchange);
  } catch (...) {
    Failure failure = failure_of(std::current_exception(), service_.gallery->name());
    reply = std::move(failure.reply);
    cause = std::move(failure.cause);
  }
  exchange.call.body = std::string();
  exchange.room.emplace(service_.bodies);
  exchange.status = reply.status;
  const std::string method = exchange.name == "other" ? "any" : head.method;
  service_.metrics.count(method, exchange.name, reply.status, seconds_since(exchange.start));
  if (reply.status == kGone) return sent(*visit);
  if (reply.status >= 500) {
    const std::string what = exchange.is_framed ? head.method + " " + head.path() : "- -";
    service_.log(what + " " + std::to_string(reply.status) + " [" + exchange.id + "]: " + cause);
  }
  // If a request was not read to its end, its rest would be parsed as the next request.
  const bool goes_on = exchange.is_framed && head.keep_alive && exchange.parser.is_whole() &&
                       !visit->has_ended && !service_.stopping &&
                       visit->place == Visit::Place::guest;
  exchange.afterwards = goes_on ? Afterwards::next_request : Afterwards::close;
  add_cors_headers(head, service_.params, reply);
  exchange.answer_head = head_of(reply, head.version, exchange.afterwards, exchange.id);
  if (head.method != "HEAD") exchange.answer_body = std::move(reply.body);
  send(std::move(visit));
}

// What the socket does not take now is sent by the front, as far as there is memory for it.
void HttpServer::send(std::unique_ptr<Visit> visit) {
  Exchange& exchange = *visit->exchange;
  const std::size_t all = exchange.answer_head.size() + exchange.answer_body.size();
  const auto now = visit->connection.write(exchange.answer_head, exchange.answer_body);
  exchange.sent = now.value_or(0);
  if (now && exchange.sent < all) {
    try {
      exchange.room->take(exchange.call.patience.client, all);
    } catch (const Refusal&) {
      return sent(*visit);
    }
    visit->stage = Visit::Stage::sending;
    return front_.take_back(std::move(visit));
  }
  sent(*visit);
  if (!now) return;
  const bool goes_on = exchange.afterwards == Afterwards::next_request;
  visit->stage = goes_on ? Visit::Stage::idle : Visit::Stage::leaving;
  if (!goes_on) visit->connection.end_writing();
  visit->exchange.reset();
  front_.take_back(std::move(visit));
}

// For the access log.
void HttpServer::sent(Visit& visit) {
  if (!service_.params.served) return;
  const Exchange& exchange = *visit.exchange;
  const Head& head = exchange.head;
  const Clock::duration lasted = Clock::now() - exchange.start;
  ServedRequest request;
  request.id = exchange.id;
  request.client = exchange.client;
  request.token = exchange.token;
  request.method = head.method;
  request.target = head.target;
  if (!head.method.empty()) {
    request.version = head.version == HttpVersion::http_1_0 ? "HTTP/1.0" : "HTTP/1.1";
  }
  request.status = exchange.status;
  request.bytes = sent_of_body(exchange);
  request.arrived = std::chrono::system_clock::now() -
                    std::chrono::duration_cast<std::chrono::system_clock::duration>(lasted);
  request.seconds = std::chrono::duration<double>(lasted).count();
  request.referer = head.header("referer");
  request.agent = head.header("user-agent");
  service_.served(request);
}

}  // namespace diml::server
