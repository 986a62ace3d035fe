// Who may ask what: host names, tokens with rights, headers against other sites, request ids, a
// Unix socket.

#include <chrono>
#include <filesystem>
#include <mutex>
#include <thread>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "diml/error.h"
#include "gate.h"
#include "refusal.h"
#include "server/served_gallery.h"

namespace diml::test {
namespace {

class WhoMay : public ServedGallery {
 protected:
  ~WhoMay() override { server_.reset(); }

  int status_for(const std::string& host) const {
    const HttpResult answer = client().get("/v1/gallery", {{"Host", host}});
    return answer ? answer->status : 0;
  }
  int status_with(const std::string& token, const std::string& method, const std::string& path,
                  const std::string& from = "") const {
    HttpClient one(server_->port(), from);
    const HttpResult answer = one.send(method, path, {{"Authorization", "Bearer " + token}});
    return answer ? answer->status : 0;
  }
  void serve_logged(ServerParams params) {
    params.served = [this](const ServedRequest& request) {
      const std::lock_guard lock(mutex_);
      seen_.push_back(request);
    };
    params.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    };
    serve(params);
  }
  ServedRequest last() {
    for (int wait = 0; wait < 1000; ++wait) {
      {
        const std::lock_guard lock(mutex_);
        if (!seen_.empty()) {
          const ServedRequest request = seen_.back();
          seen_.clear();
          return request;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ADD_FAILURE() << "not told";
    return {};
  }

  std::mutex mutex_;
  std::vector<ServedRequest> seen_;
  std::vector<std::string> lines_;
};

TEST_F(WhoMay, WithoutATokenOnlyNamesThatItWasToldAreAnswered) {
  // A page of evil.example could give its own name any of these addresses.
  for (const char* host : {"0.0.0.0", "127.0.0.1"}) {
    serve({.host = host});
    EXPECT_EQ(status_for("evil.example"), 421) << host;
    EXPECT_EQ(status_for("evil.example:80"), 421) << host;
    EXPECT_EQ(status_for("192.0.2.1"), 421) << host;
    EXPECT_EQ(status_for("localhost:8080"), 200) << host;
    EXPECT_EQ(status_for("127.0.0.1"), 200) << host;
  }
  serve({.host = "0.0.0.0", .allowed_hosts = {"Photos.example", "192.0.2.1"}});
  EXPECT_EQ(status_for("PHOTOS.example:8443"), 200);
  EXPECT_EQ(status_for("192.0.2.1:80"), 200);
  EXPECT_EQ(status_for("photos.example.evil.example"), 421);
  EXPECT_EQ(status_for("0.0.0.0"), 421);
  expect_refused(client().get("/", {{"Host", "evil.example"}}), 421, "allow_host");
  // With a token a page of another name has nothing to send; unless names were told.
  const HttpHeaders right = {{"Authorization", "Bearer sesame"}, {"Host", "any.example"}};
  serve({.host = "0.0.0.0", .tokens = {{"all", "sesame"}}});
  EXPECT_EQ(client().get("/v1/gallery", right)->status, 200);
  serve({.host = "0.0.0.0", .tokens = {{"all", "sesame"}}, .allowed_hosts = {"photos.example"}});
  EXPECT_EQ(client().get("/v1/gallery", right)->status, 421);
}

TEST(OwnNames, AreTheOneItListensAtAndThoseThatItWasTold) {
  const auto is_own = [](const std::string& listens_at, const std::string& host) {
    const server::Head head =
        server::parse_head("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n", {});
    try {
      server::expect_own_site(head, {.host = listens_at, .allowed_hosts = {"a.example"}}, false);
    } catch (const server::Refusal& refusal) {
      EXPECT_EQ(refusal.status(), 421);
      return false;
    }
    return true;
  };
  for (const char* at :
       {"127.0.0.1", "127.0.0.2", "::1", "0.0.0.0", "::", "photos.example", "192.0.2.1"}) {
    EXPECT_TRUE(is_own(at, "localhost")) << at;
    EXPECT_TRUE(is_own(at, "a.example:80")) << at;
    EXPECT_FALSE(is_own(at, "evil.example")) << at;
    EXPECT_FALSE(is_own(at, "127.0.0.3")) << at;
  }
  EXPECT_TRUE(is_own("127.0.0.2", "127.0.0.2:8080"));
  EXPECT_TRUE(is_own("Photos.example", "photos.EXAMPLE"));
  EXPECT_TRUE(is_own("2001:db8::1", "[2001:db8::1]:80"));
  EXPECT_FALSE(is_own("0.0.0.0", "0.0.0.0"));
}

TEST_F(WhoMay, TokensHaveRightsAndNames) {
  serve_logged({.tokens = {{"shop", "look", TokenRights::read}, {"boss", "touch"}}});
  EXPECT_EQ(status_with("look", "GET", "/v1/items"), 200);
  EXPECT_EQ(last().token, "shop");
  EXPECT_EQ(status_with("touch", "GET", "/v1/items"), 200);
  EXPECT_EQ(last().token, "boss");
  EXPECT_EQ(status_with("look", "DELETE", "/v1/items/1"), 403);
  // The page shows what the token may do.
  HttpClient visitor = client();
  for (const auto& [secret, may] : {std::pair{"look", false}, {"touch", true}}) {
    const auto about =
        visitor.get("/v1/gallery", {{"Authorization", std::string("Bearer ") + secret}});
    EXPECT_EQ(nlohmann::json::parse(about->body).at("changes"), may) << secret;
  }
  EXPECT_TRUE(gallery_->snapshot()->contains(1));
  EXPECT_EQ(status_with("touch", "DELETE", "/v1/items/1"), 200);
  EXPECT_EQ(status_with("other", "GET", "/v1/items"), 401);
}

TEST_F(WhoMay, TokensAreReplacedWhileItRuns) {
  serve({.tokens = {{"old", "first"}}});
  HttpClient one = client();
  EXPECT_EQ(one.get("/v1/items", {{"Authorization", "Bearer first"}})->status, 200);
  server_->set_tokens({{"new", "second"}});
  EXPECT_EQ(one.get("/v1/items", {{"Authorization", "Bearer first"}})->status, 401);
  EXPECT_EQ(one.get("/v1/items", {{"Authorization", "Bearer second"}})->status, 200);
  EXPECT_THROW(server_->set_tokens({}), Error);
  EXPECT_EQ(one.get("/v1/items", {{"Authorization", "Bearer second"}})->status, 200);
  EXPECT_EQ(one.connections(), 1);
}

TEST_F(WhoMay, WrongTokensAreThrottledByAddress) {
  serve({.tokens = {{"boss", "sesame"}}});
  int throttled = 0;
  for (int k = 0; k < 20; ++k) {
    throttled += status_with("guess" + std::to_string(k), "GET", "/v1/items", "127.0.0.2") == 429;
  }
  EXPECT_GE(throttled, 5);
  EXPECT_EQ(status_with("sesame", "GET", "/v1/items", "127.0.0.3"), 200);
}

TEST_F(WhoMay, EveryAnswerTellsBrowsersToKeepItFromOtherSites) {
  serve({.tokens = {{"all", "sesame"}}, .allowed_origins = {"https://shop.example"}});
  const std::string host = "Host: localhost\r\nConnection: close\r\n";
  const std::string asks =
      host + "Origin: https://shop.example\r\nAccess-Control-Request-Method: GET\r\n";
  const std::vector<std::pair<std::string, std::string>> all = {
      {"200", "GET / HTTP/1.1\r\n" + host},
      {"200", "GET /app.js HTTP/1.1\r\n" + host},
      {"200", "GET /healthz HTTP/1.1\r\n" + host},
      {"200", "HEAD /healthz HTTP/1.1\r\n" + host},
      {"200", "GET /v1/items/1/thumbnail HTTP/1.1\r\nAuthorization: Bearer sesame\r\n" + host},
      {"204", "OPTIONS /v1/items HTTP/1.1\r\n" + asks},
      {"401", "GET /v1/items HTTP/1.1\r\n" + host},
      {"403", "GET /healthz HTTP/1.1\r\nOrigin: https://evil.example\r\n" + host},
      {"404", "GET /none HTTP/1.1\r\n" + host},
      {"405", "PUT /healthz HTTP/1.1\r\n" + host},
      {"400", "nonsense\r\n"},
      {"400", "GET / HTTP/1.1\r\n"},
      {"414", "GET /" + std::string(5000, 'a') + " HTTP/1.1\r\n" + host},
      {"431", "GET / HTTP/1.1\r\nX: " + std::string(40'000, 'a') + "\r\n" + host},
      {"505", "GET / HTTP/9.9\r\n" + host},
  };
  for (const auto& [status, request] : all) {
    const std::string answer = raw(request + "\r\n");
    ASSERT_GT(answer.size(), 12u) << request;
    EXPECT_EQ(answer.substr(9, 3), status) << request;
    for (const char* header :
         {"\r\nCross-Origin-Resource-Policy: same-origin\r\n",
          "\r\nX-Content-Type-Options: nosniff\r\n", "\r\nReferrer-Policy: no-referrer\r\n",
          "\r\nX-Frame-Options: DENY\r\n", "frame-ancestors 'none'", "\r\nX-Request-Id: "}) {
      EXPECT_NE(answer.find(header), std::string::npos) << header << " of " << request;
    }
    EXPECT_EQ(answer.find("Content-Security-Policy"), answer.rfind("Content-Security-Policy"));
  }
}

TEST_F(WhoMay, ARequestHasOneIdInItsAnswerAndInBothLogs) {
  serve_logged({});
  const HttpResult named = client().get("/healthz", {{"X-Request-Id", "trace-7.a_B"}});
  EXPECT_EQ(named->header("X-Request-Id"), "trace-7.a_B");
  EXPECT_EQ(last().id, "trace-7.a_B");
  for (const std::string& bad : {std::string("a b"), std::string("\"x\""), std::string(200, 'a')}) {
    const HttpResult made = client().get("/healthz", {{"X-Request-Id", bad}});
    EXPECT_EQ(made->header("X-Request-Id").size(), 32u) << bad;
    EXPECT_EQ(last().id, made->header("X-Request-Id"));
  }
  raw("nonsense\r\n\r\n");
  EXPECT_EQ(last().id.size(), 32u);
}

class UnixSocket : public WhoMay {
 protected:
  std::string path() const { return folder_ / "s.sock"; }
  void serve_at_path(ServerParams params = {}) {
    server_.reset();
    params.socket = path();
    params.served = [this](const ServedRequest& request) {
      const std::lock_guard lock(mutex_);
      seen_.push_back(request);
    };
    server_ = std::make_unique<Server>(gallery_, nullptr, "no photos here", params);
  }
  std::string ask(const std::string& headers) const {
    const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::connect(made, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    const std::string bytes =
        "GET /v1/items/3 HTTP/1.1\r\nConnection: close\r\n" + headers + "\r\n";
    (void)!::send(made, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    std::string answer;
    char block[4096];
    for (ssize_t count = 0; (count = ::recv(made, block, sizeof(block), 0)) > 0;) {
      answer.append(block, static_cast<std::size_t>(count));
    }
    ::close(made);
    return answer;
  }
};

TEST_F(UnixSocket, IsServedForItsOwnerAndGroupAndRemovedAtTheEnd) {
  serve_at_path();
  EXPECT_EQ(server_->port(), 0);
  struct stat about {};
  ASSERT_EQ(::stat(path().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0660U);
  EXPECT_EQ(ask("Host: localhost\r\n").substr(0, 12), "HTTP/1.1 200");
  EXPECT_EQ(last().client, "unix");
  EXPECT_EQ(ask("Host: photos.example\r\n").substr(0, 12), "HTTP/1.1 421");
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(UnixSocket, ItsProxyNamesTheClientIfItIsTrusted) {
  serve_at_path({.allowed_hosts = {"photos.example"}});
  const std::string forwarded = "Host: photos.example\r\nX-Forwarded-For: 192.0.2.7\r\n";
  EXPECT_EQ(ask(forwarded).substr(0, 12), "HTTP/1.1 200");
  EXPECT_EQ(last().client, "unix");
  serve_at_path({.allowed_hosts = {"photos.example"}, .trusted_proxies = {"unix"}});
  EXPECT_EQ(ask(forwarded).substr(0, 12), "HTTP/1.1 200");
  EXPECT_EQ(last().client, "192.0.2.7");
}

TEST_F(UnixSocket, APlaceThatIsServedIsRefusedAndOneThatIsLeftIsTaken) {
  serve_at_path();
  const ServerParams again{.socket = path()};
  EXPECT_THROW(Server(gallery_, nullptr, "", again), Error);
  EXPECT_EQ(ask("Host: localhost\r\n").substr(0, 12), "HTTP/1.1 200");
  server_.reset();
  // What a killed server leaves behind.
  const int left = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path().copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(left, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ::close(left);
  serve_at_path();
  EXPECT_EQ(ask("Host: localhost\r\n").substr(0, 12), "HTTP/1.1 200");
  const ServerParams file{.socket = folder_ / "g/data.mdb"};
  EXPECT_THROW(Server(gallery_, nullptr, "", file), Error);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "g/data.mdb"));
  const ServerParams too_long{.socket = folder_ / std::string(200, 'a')};
  EXPECT_THROW(Server(gallery_, nullptr, "", too_long), Error);
}

}  // namespace
}  // namespace diml::test
