#pragma once

#include <atomic>
#include <string>
#include <thread>

#include <httplib.h>

#include "service.h"

namespace diml::server {

// The HTTP library, with our own sockets below it and our own routes above.
class HttpServer : private httplib::Server {
 public:
  // Throws where the address cannot be had.
  explicit HttpServer(Service& service);
  ~HttpServer() override;

  int port() const { return port_; }
  void stop();

 private:
  bool process_and_close_socket(socket_t socket) override;
  void answer(const httplib::Request& request, httplib::Response& response,
              const httplib::ContentReader* reader);
  void serve(Connection& connection);
  void listen_until_stopped();

  Service& service_;
  int port_ = 0;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace diml::server
