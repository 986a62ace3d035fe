#include "http_server.h"

#include <cerrno>
#include <cstring>
#include <new>

#include <sys/socket.h>

#include "connection_pool.h"
#include "diml/error.h"
#include "gate.h"
#include "page.h"
#include "routes.h"

namespace diml::server {
namespace {

// Clients that connect in the same moment. The library's own five would make the sixth wait for a
// second.
constexpr int kBacklog = 1024;
// Seconds that a client gets to take its last answer in. One thread refuses all who are too many.
constexpr double kLinger = 2.0;
constexpr double kRefusedLinger = 0.02;
constexpr auto kBeforeListeningAgain = std::chrono::milliseconds(20);
constexpr const char* kAnyPath = R"([\s\S]*)";

// The socket that the thread's request comes through.
thread_local Connection* current = nullptr;

// Takes room for a body out of what all bodies together may have.
class BodyRoom {
 public:
  BodyRoom(Service& service) : service_(service) {}
  ~BodyRoom() { service_.body_bytes -= taken_; }
  BodyRoom(const BodyRoom&) = delete;
  BodyRoom& operator=(const BodyRoom&) = delete;

  bool take(std::size_t bytes) {
    taken_ += bytes;
    return (service_.body_bytes += bytes) <= service_.params.limits.bodies;
  }

 private:
  Service& service_;
  std::size_t taken_ = 0;
};

std::string read_body(Service& service, const httplib::ContentReader& reader, BodyRoom& room) {
  const std::size_t most = service.params.limits.body;
  std::string body;
  bool crowded = false;
  const bool whole = reader([&](const char* bytes, std::size_t size) {
    if (body.size() + size > most) return false;
    if (!room.take(size)) {
      crowded = true;
      return false;
    }
    body.append(bytes, size);
    return true;
  });
  if (whole) return body;
  if (crowded) throw Refusal(kBusy, "too many large requests at once: try again in a moment");
  if (current->timed_out()) throw Refusal(408, "the body took too long to arrive");
  if (current->too_large() || body.size() + 65536 > most) {
    throw Refusal(
        413, "the body is larger than the " + std::to_string(most) + " bytes that are allowed");
  }
  throw Refusal(400, "the body is cut off");
}

Reply refused(const Refusal& refusal) {
  Reply reply{.status = refusal.status(), .body = error_json(refusal.line())};
  if (refusal.status() == kBusy) reply.headers.emplace_back("Retry-After", "1");
  return reply;
}

Reply handled(Service& service, const Route& route, const Call& call) {
  try {
    return route.handle(service, call);
  } catch (const Refusal& refusal) {
    return refused(refusal);
  } catch (const Error& error) {
    return refused({422, error.what()});
  } catch (const std::bad_alloc&) {
    return refused({kBusy, "the server is out of memory: try again in a moment"});
  } catch (const std::exception&) {
    return refused({500, "the server made a mistake: please report what you sent"});
  }
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

HttpServer::HttpServer(Service& service) : service_(service) {
  const ServerParams& params = service.params;
  const auto plain = [this](const httplib::Request& request, httplib::Response& response) {
    answer(request, response, nullptr);
  };
  Get(kAnyPath, plain);
  Delete(kAnyPath, plain);
  Post(kAnyPath,
       [this](const httplib::Request& request, httplib::Response& response,
              const httplib::ContentReader& reader) { answer(request, response, &reader); });
  set_tcp_nodelay(true);
  set_keep_alive_max_count(1'000'000);
  set_keep_alive_timeout(static_cast<time_t>(params.limits.idle_seconds));
  set_payload_max_length(params.limits.body);
  // Not SO_REUSEPORT, the library's choice: a second server would take half of the requests.
  set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  const int connections = params.limits.connections;
  new_task_queue = [connections] { return new ConnectionPool(connections); };

  errno = 0;
  if (params.port == 0) {
    port_ = bind_to_any_port(params.host);
  } else if (bind_to_port(params.host, params.port)) {
    port_ = params.port;
  } else {
    port_ = -1;
  }
  if (port_ <= 0) {
    throw Error(params.host + ":" + std::to_string(params.port) + " cannot be served" +
                (errno != 0 ? std::string(": ") + std::strerror(errno) : "") +
                ": choose another --port (0 for any) or --host");
  }
  ::listen(svr_sock_, kBacklog);
  thread_ = std::thread([this] { listen_until_stopped(); });
}

// The library stops listening when a client is gone before it was accepted, and on other errors
// that pass: then the door is opened again.
void HttpServer::listen_until_stopped() {
  while (true) {
    listen_after_bind();
    do {
      if (service_.stopping) {
        ended_ = true;
        return;
      }
      std::this_thread::sleep_for(kBeforeListeningAgain);
    } while (!bind_to_port(service_.params.host, port_));
    ::listen(svr_sock_, kBacklog);
  }
}

HttpServer::~HttpServer() { stop(); }

void HttpServer::stop() {
  service_.stopping = true;
  if (!thread_.joinable()) return;
  // A server that has hardly begun to listen does not hear that it is to stop.
  while (!is_running() && !ended_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  httplib::Server::stop();
  thread_.join();
}

bool HttpServer::process_and_close_socket(socket_t socket) {
  Connection connection(socket, service_.params.limits, service_.stopping);
  if (ConnectionPool::is_refusing()) {
    connection.refuse({kBusy, "too many connections: try again in a moment"});
    service_.metrics.count("any", "other", kBusy, 0.0);
    connection.close(kRefusedLinger);
    return true;
  }
  ++service_.connections;
  current = &connection;
  serve(connection);
  current = nullptr;
  connection.close(kLinger);
  --service_.connections;
  return true;
}

void HttpServer::serve(Connection& connection) {
  while (connection.wait_for_request()) {
    try {
      const std::string text = connection.read_head();
      if (text.empty()) return;
      const Head head = parse_head(text, service_.params.limits);
      admit(head, service_.params);
      connection.hand_over(head);
    } catch (const Refusal& refusal) {
      connection.refuse(refusal);
      service_.metrics.count("any", "other", refusal.status(), 0.0);
      return;
    }
    bool closed = false;
    const bool answered = process_request(connection, service_.stopping, closed, {});
    if (!answered || closed || connection.has_unread_body() || service_.stopping) return;
  }
}

void HttpServer::answer(const httplib::Request& request, httplib::Response& response,
                        const httplib::ContentReader* reader) {
  const auto start = Clock::now();
  const std::string path = request.target.substr(0, request.target.find('?'));
  std::string name = path;
  Reply reply;
  const PageFile* file = reader == nullptr ? find_page_file(path) : nullptr;
  if (file != nullptr) {
    reply = page_reply(*file, request.get_header_value("If-None-Match"));
  } else {
    BodyRoom room(service_);
    try {
      Call call;
      const Route& route = find_route(request.method, path, call.id);
      name = route.path;
      if (reader != nullptr) call.body = read_body(service_, *reader, room);
      for (const auto& [key, value] : request.params) call.query[key] = value;
      call.content_type = request.get_header_value(kBodyType);
      call.known_tag = request.get_header_value("If-None-Match");
      call.deadline = after(service_.params.limits.answer_seconds);
      reply = handled(service_, route, call);
    } catch (const Refusal& refusal) {
      reply = refused(refusal);
    }
  }
  response.status = reply.status;
  response.set_header("X-Content-Type-Options", "nosniff");
  for (const auto& [key, value] : reply.headers) response.set_header(key, value);
  if (!reply.body.empty()) response.set_content(reply.body, reply.type);
  service_.metrics.count(request.method, name, reply.status, seconds_since(start));
}

}  // namespace diml::server
