#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "diml/gallery.h"
#include "diml/gallery_embedder.h"
#include "diml/matcher.h"

namespace diml {

// What nobody may ask of a server, however friendly: docs/decisions/0011 has the reasons.
struct ServerLimits {
  std::size_t body = std::size_t{32} << 20;     // bytes of one request
  std::size_t bodies = std::size_t{256} << 20;  // bytes of all requests that are under way
  std::size_t head = 16384;                     // bytes of a request's line and headers
  std::size_t target = 2048;                    // bytes of its address
  std::size_t pixels = 64'000'000;              // of one image
  std::size_t candidates = 10'000;              // of one re-ranking
  std::size_t hits = 1'000;                     // of one search
  int connections = 128;                        // that are open; more are answered 503
  int workers = 0;                              // requests that are computed; 0: all cores
  std::size_t waiting = 256;                    // requests that wait for them; more: 503
  double receive_seconds = 30.0;                // from a request's first byte to its last
  double answer_seconds = 30.0;                 // for waiting for others, then: 503
  double idle_seconds = 15.0;                   // of a connection without a request
};

enum class ItemChanges : std::uint8_t { allowed, refused };

struct ServerParams {
  std::string host = "127.0.0.1";
  int port = 8080;      // 0: any that is free
  std::string token{};  // that requests must bear; "" for none
  ItemChanges changes = ItemChanges::allowed;
  MatchParams match{};
  std::string source = "exact";  // of candidates: one of candidate_sources()
  std::string matcher = "auto";
  int threads = 0;  // of one search or one forward pass
  ServerLimits limits{};
  // Gets one line for each answer of 500 and above: method, path, status and the error. From any
  // thread, one at a time; it must not throw.
  std::function<void(const std::string& line)> log{};
};

// A gallery over HTTP, with a page for people. It serves from construction on, on threads of its
// own, until stop() or destruction.
class Server {
 public:
  // embedder: for photos; null where the gallery does not know its model, and why_no_photos says
  // so to those who send one. Throws where the port is taken.
  Server(std::shared_ptr<GridStore> gallery, std::unique_ptr<Embedder> embedder,
         std::string why_no_photos, const ServerParams& params);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;

  // No more requests are taken; returns when those that are under way are answered.
  void stop();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace diml
