// What the server tells an access log, and requests from pages of other sites.

#include <chrono>
#include <mutex>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

#include "cors.h"
#include "diml/error.h"
#include "served_gallery.h"

namespace diml::test {
namespace {

class AccessLog : public ServedGallery {
 protected:
  void serve_logged(ServerParams params = {}) {
    params.served = [this](const ServedRequest& request) {
      const std::lock_guard lock(mutex_);
      seen_.push_back(request);
    };
    serve(params);
  }
  // The request is told after its answer was sent.
  ServedRequest last(std::size_t count) {
    for (int wait = 0; wait < 1000; ++wait) {
      {
        const std::lock_guard lock(mutex_);
        if (seen_.size() >= count) return seen_[count - 1];
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << "not told";
    return {};
  }

  std::mutex mutex_;
  std::vector<ServedRequest> seen_;
};

TEST_F(AccessLog, TellsClientRequestStatusBytesAndTime) {
  const auto before = std::chrono::system_clock::now();
  serve_logged();
  HttpClient client(server_->port());
  const HttpResult answer = client.get("/v1/items?limit=2", {{"User-Agent", "test/1"}});
  const ServedRequest request = last(1);
  EXPECT_EQ(request.client, "127.0.0.1");
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.target, "/v1/items?limit=2");
  EXPECT_EQ(request.version, "HTTP/1.1");
  EXPECT_EQ(request.status, 200);
  EXPECT_EQ(request.bytes, answer->body.size());
  EXPECT_EQ(request.agent, "test/1");
  EXPECT_GT(request.seconds, 0.0);
  EXPECT_GE(request.arrived, before);
  EXPECT_LE(request.arrived, std::chrono::system_clock::now());
  EXPECT_EQ(client.get("/nothing")->status, 404);
  EXPECT_EQ(last(2).status, 404);
  EXPECT_EQ(client.send("HEAD", "/v1/gallery", {})->status, 200);
  EXPECT_EQ(last(3).bytes, 0u);  // no body was sent
}

TEST_F(AccessLog, TellsRequestsThatCannotBeParsed) {
  serve_logged();
  raw("nonsense\r\n\r\n");
  const ServedRequest request = last(1);
  EXPECT_EQ(request.method, "");
  EXPECT_EQ(request.status, 400);
  EXPECT_GT(request.bytes, 0u);
}

TEST_F(AccessLog, ALogThatFailsCostsNoAnswer) {
  serve({.served = [](const ServedRequest&) { throw Error("the disk is full"); }});
  HttpClient one = client();
  for (int k = 0; k < 3; ++k) EXPECT_EQ(one.get("/healthz")->status, 200);
  EXPECT_EQ(one.connections(), 1);
}

TEST_F(AccessLog, ATrustedProxyNamesTheClient) {
  const HttpHeaders forwarded = {{"X-Forwarded-For", "10.9.9.9, 192.0.2.7"}};
  serve_logged();
  client().get("/healthz", forwarded);
  EXPECT_EQ(last(1).client, "127.0.0.1");  // not trusted: anybody can send the header
  serve_logged({.trusted_proxies = {"127.0.0.1"}});
  client().get("/healthz", forwarded);
  EXPECT_EQ(last(2).client, "192.0.2.7");
  serve_logged({.trusted_proxies = {"127.0.0.1", "192.0.2.7"}});
  client().get("/healthz", forwarded);
  EXPECT_EQ(last(3).client, "10.9.9.9");
}

const HttpHeaders kShop = {{"Origin", "https://shop.example"}};
const HttpHeaders kAsks = {{"Origin", "https://shop.example"},
                           {"Access-Control-Request-Method", "POST"},
                           {"Access-Control-Request-Headers", "authorization,content-type"}};

class CrossOrigin : public ServedGallery {};

TEST_F(CrossOrigin, APageOfAnotherSiteIsRefusedUnlessItsOriginIsAllowed) {
  expect_refused(client().get("/v1/gallery", kShop), 403, "another site");
  expect_refused(client().send("OPTIONS", "/v1/search", kAsks), 403, "another site");
  serve({.allowed_origins = {"https://shop.example", "http://localhost:3000"}});
  const HttpResult answer = client().get("/v1/gallery", kShop);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->header("Access-Control-Allow-Origin"), "https://shop.example");
  EXPECT_EQ(answer->header("Vary"), "Origin");
  for (const char* other : {"http://shop.example", "https://shop.example:444", "null",
                            "https://shop.example.evil.example", "https://SHOP.example"}) {
    expect_refused(client().get("/v1/gallery", {{"Origin", other}}), 403, "another site");
  }
  EXPECT_EQ(client().get("/v1/gallery")->header("Access-Control-Allow-Origin"), "");
  EXPECT_EQ(client().get("/v1/gallery")->header("Vary"), "Origin");
}

TEST_F(CrossOrigin, TheBrowserMayAskFirstWithoutTheToken) {
  serve({.tokens = {{"all", "sesame"}}, .allowed_origins = {"https://shop.example"}});
  HttpClient one = client();
  const HttpResult allowed = one.send("OPTIONS", "/v1/items", kAsks);
  EXPECT_EQ(allowed->status, 204);
  EXPECT_EQ(allowed->body, "");
  EXPECT_EQ(allowed->header("Content-Length"), "");
  EXPECT_EQ(allowed->header("Access-Control-Allow-Origin"), "https://shop.example");
  EXPECT_EQ(allowed->header("Access-Control-Allow-Methods"), "GET, POST");
  EXPECT_EQ(allowed->header("Access-Control-Allow-Headers"),
            "Authorization, Content-Type, If-None-Match, X-Request-Id");
  EXPECT_EQ(allowed->header("Access-Control-Max-Age"), "600");
  // The page must be able to read why it is refused.
  const HttpResult refused = one.get("/v1/gallery", kShop);
  expect_refused(refused, 401, "token");
  EXPECT_EQ(refused->header("Access-Control-Allow-Origin"), "https://shop.example");
  EXPECT_EQ(one.connections(), 1);
  expect_refused(one.send("OPTIONS", "/nothing", kAsks), 404, "no such path");
}

TEST_F(CrossOrigin, OriginsAreNamedExactly) {
  for (const char* wrong : {"*", "shop.example", "https://shop.example/", "https://Shop.example",
                            "https://", "https://a b"}) {
    EXPECT_THROW(server::check_origins({wrong}), Error) << wrong;
  }
  EXPECT_NO_THROW(server::check_origins({"https://shop.example:8443", "http://[::1]:3000"}));
}

TEST_F(CrossOrigin, AllowingAnOriginDoesNotAllowOtherHostNames) {
  serve({.allowed_origins = {"https://shop.example"}});
  HttpHeaders rebound = kShop;
  rebound.emplace_back("Host", "evil.example");
  expect_refused(client().get("/v1/gallery", rebound), 421, "host name");
}

}  // namespace
}  // namespace diml::test
