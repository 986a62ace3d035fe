#pragma once

#include <thread>

#include "connection.h"
#include "connection_pool.h"
#include "http_message.h"
#include "listener.h"
#include "service.h"

namespace diml::server {

// Connections below, routes above: reads requests, has them answered, writes the answers.
class HttpServer {
 public:
  // Serves from here on. Throws where the address cannot be had.
  explicit HttpServer(Service& service);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return listener_.port(); }
  void stop();

 private:
  void serve(int socket);
  void refuse(int socket);
  // Reads one request and answers it.
  Afterwards answer_one(Connection& connection);
  // The reply, and the route's name for the metrics.
  Reply reply_to(const Head& head, RequestParser& parser, Connection& connection,
                 std::string& name);
  std::string read_body(const Head& head, RequestParser& parser, Connection& connection,
                        class BodyRoom& room);

  Service& service_;
  Listener listener_;
  ConnectionPool pool_;
  std::thread acceptor_;
};

}  // namespace diml::server
