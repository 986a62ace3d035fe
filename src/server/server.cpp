#include "diml/server.h"

#include "http_server.h"
#include "service.h"

namespace diml {

struct Server::Parts {
  Parts(std::shared_ptr<GridStore> gallery, std::unique_ptr<Embedder> embedder,
        std::string why_no_photos, const ServerParams& params)
      : service(std::move(gallery), std::move(embedder), std::move(why_no_photos), params),
        http(service) {}

  server::Service service;
  server::HttpServer http;
};

Server::Server(std::shared_ptr<GridStore> gallery, std::unique_ptr<Embedder> embedder,
               std::string why_no_photos, const ServerParams& params)
    : parts_(std::make_unique<Parts>(std::move(gallery), std::move(embedder),
                                     std::move(why_no_photos), params)) {}

Server::~Server() = default;

int Server::port() const { return parts_->http.port(); }

void Server::set_tokens(std::vector<AccessToken> tokens) {
  parts_->service.keys.set(std::move(tokens));
}

void Server::stop() { parts_->http.stop(); }

}  // namespace diml
