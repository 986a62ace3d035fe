#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "diml/gallery.h"
#include "diml/gallery_images.h"
#include "diml/matcher.h"

namespace diml {

// Limits for every client: docs/decisions/0011 has the reasons.
struct ServerLimits {
  std::size_t body = std::size_t{32} << 20;         // bytes of one request
  std::size_t bodies = std::size_t{256} << 20;      // bytes of all requests in progress
  std::size_t head = 16384;                         // bytes of a request's line and headers
  std::size_t target = 2048;                        // bytes of its address
  std::size_t pixels = 64'000'000;                  // of one image
  std::size_t photo_bytes = std::size_t{64} << 20;  // of the file of an item's photo
  std::size_t photo_side = 1600;                    // pixels of that photo as it is sent
  std::size_t candidates = 10'000;                  // of one re-ranking
  std::size_t hits = 1'000;                         // of one search
  int connections = 1024;                           // that are open
  int connections_of_one = 0;                       // of them by one address; 0: half of them
  int requests = 128;                               // in progress at once; others wait their turn
  int workers = 0;                                  // requests that are computed; 0: all cores
  std::size_t waiting = 256;                        // requests that wait for them; more: 503
  double head_seconds = 10.0;                       // from a request's first byte to its body
  std::size_t body_rate = 1024;                     // bytes a second of a body that arrives
  double body_seconds = 5.0;                        // before this rate counts
  double receive_seconds = 30.0;                    // from a request's first byte to its last
  double answer_seconds = 30.0;                     // of waiting and computing, then: 503
  double work = 1e11;           // steps of matching of one request (docs/server.md), more: 422
  double stop_seconds = 5.0;    // that running requests have after stop(), then: 503
  double idle_seconds = 15.0;   // of a connection without a request
  double write_seconds = 10.0;  // of waiting for other writers, then: 503
  std::size_t writes = 64;      // changes that wait; more: 503
};

enum class ItemChanges : std::uint8_t { allowed, refused };

// Whether clients get the photos of items from their files, or thumbnails only.
enum class Originals : std::uint8_t { shown, hidden };

enum class TokenRights : std::uint8_t { read, write };  // write: reading too

// What a client sends to show who it is: "Authorization: Bearer SECRET".
struct AccessToken {
  std::string name{};  // for the access log
  std::string secret{};
  TokenRights rights = TokenRights::write;
};

// The tokens of a file: "read NAME SECRET" or "write NAME SECRET" on each line, "#" begins a
// comment; or one secret alone, which may write. Throws Error with the line's number.
std::vector<AccessToken> parse_tokens(const std::string& text, const std::string& file);

// One request that was answered, for an access log.
struct ServedRequest {
  std::string id{};  // the client's X-Request-Id, or one that the server made
  // The client's address, "192.0.2.7" or "2001:db8::1"; "unix" for a Unix socket; "-" where it is
  // unknown.
  std::string client{};
  std::string token{};   // the name of the token in it; "" for none
  std::string method{};  // this and the next two: empty where the request could not be parsed
  std::string target{};  // path and query, as sent
  std::string version{};
  int status = 0;                                   // 499: the client left before the answer
  std::uint64_t bytes = 0;                          // of the answer's body that were sent
  std::chrono::system_clock::time_point arrived{};  // of its first byte
  double seconds = 0.0;                             // from then to the end of the answer
  std::string referer{};
  std::string agent{};
};

struct ServerParams {
  std::string host = "127.0.0.1";
  int port = 8080;                    // 0: any that is free
  std::string socket{};               // the path of a Unix socket, in the place of host and port
  std::vector<AccessToken> tokens{};  // one of which requests must send; none: everybody may
  // Names by which clients call this server ("photos.example"). Without a token it answers no
  // others, except localhost: a page of another site could give its own name this address.
  std::vector<std::string> allowed_hosts{};
  ItemChanges changes = ItemChanges::allowed;
  Originals originals = Originals::shown;
  // The defaults of requests:
  MatchParams match{};
  ScoreWeights weights{};
  std::size_t rerank = 100;
  std::string source = "exact";  // of candidates: one of candidate_sources()
  Backend backend = Backend::fastest;
  int threads = 0;  // of one search or one forward pass
  ServerLimits limits{};
  // Gets one line for each answer of 500 and above: method, path, status, the error and the
  // request's id. From any thread, one at a time; it must not throw.
  std::function<void(const std::string& line)> log{};
  // Gets every answered request, from any thread, one at a time. An exception of it is dropped.
  std::function<void(const ServedRequest& request)> served{};
  // Addresses of proxies whose X-Forwarded-For header names the client; "unix": whoever connects
  // to the socket's file. They are not limited to connections_of_one.
  std::vector<std::string> trusted_proxies{};
  // Sites ("https://shop.example") whose pages may send requests from a visitor's browser (CORS).
  // Exact: scheme, host and, unless it is the scheme's own, port.
  std::vector<std::string> allowed_origins{};
};

// A gallery over HTTP, with a web page. It serves from construction on, on threads of its own,
// until stop() or destruction.
class Server {
 public:
  // embedder: for photos; null where the gallery has no record of its model: clients that send a
  // photo then get why_no_photos. Throws where the port is taken.
  Server(std::shared_ptr<GridStore> gallery, std::unique_ptr<Embedder> embedder,
         std::string why_no_photos, const ServerParams& params);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;  // 0 for a Unix socket

  // Replaces the tokens, from the next request on. Throws where there were some and none are given:
  // that would open the server to everybody.
  void set_tokens(std::vector<AccessToken> tokens);

  // Accepts no more requests; returns when those in progress are answered, or have been cancelled
  // after ServerLimits::stop_seconds.
  void stop();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace diml
