// Wrong or malicious requests: a clear message, never a crash.

#include <chrono>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

#include "server/served_gallery.h"

namespace diml::test {
namespace {

using Clock = std::chrono::steady_clock;

class Refusals : public ServedGallery {
 protected:
  void TearDown() override {
    // After any request the next client is served.
    EXPECT_EQ(client().get("/healthz")->status, 200);
  }
  std::string body_of(const std::string& path, const std::string& body,
                      const std::string& type = "application/json") const {
    return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + type +
           "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           body;
  }
};

TEST_F(Refusals, MalformedJson) {
  for (const std::string body :
       {"", "{", "nonsense", "[1,2]", "\"text\"", "{\"query\": }", "{\"a\":1}{"}) {
    const HttpResult answer = client().post("/v1/search", body, "application/json");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 400) << body << answer->body;
  }
  expect_refused(
      client().post("/v1/search", std::string("{\"query\": \0}", 12), "application/json"), 400,
      "the body is not valid JSON: at byte");
  const std::string deep = "{\"query\":" + std::string(1'000'000, '[');
  expect_refused(client().post("/v1/search", deep, "application/json"), 422, "nested deeper");
}

TEST_F(Refusals, WrongTypesAndRanges) {
  const std::vector<std::pair<Json, std::string>> bad = {
      {{{"query", "five"}}, "'query' must be a whole number"},
      {{{"query", true}}, "'query' must be a whole number"},
      {{{"query", {{"id", "5"}}}}, "'query.id' must be a whole number"},
      {{{"query", {{"id", 1.5}}}}, "'query.id' must be a whole number"},
      {{{"query", Json::object()}}, "needs an id, or cells"},
      {{{"query", 1}, {"top", 0}}, "'top' must be a whole number from 1 to 1000"},
      {{{"query", 1}, {"top", 1001}}, "'top' must be"},
      {{{"query", 1}, {"top", "many"}}, "'top' must be"},
      {{{"query", 1}, {"top", 1e300}}, "'top' must be"},
      {{{"query", 1}, {"rerank", -1}}, "'rerank' must be"},
      {{{"query", 1}, {"marginals", "even"}},
       "'marginals' must be one of cross_correlation, uniform"},
      {{{"query", 1}, {"marginals", 7}}, "'marginals' must be text"},
      {{{"query", 1}, {"lambda", 0}}, "'lambda' must be a number from 0.001"},
      {{{"query", 1}, {"lambda", "nan"}}, "'lambda' must be a number"},
      {{{"query", 1}, {"mass", 0}}, "'mass' must be a number from 0.01 to 1"},
      {{{"query", 1}, {"global_weight", -1}}, "'global_weight' must be a number from 0"},
      {{{"query", 1}, {"global_weight", 0}, {"structural_weight", 0}}, "both 0"},
      {{{"query", 1}, {"tpo", 5}}, "there is no field 'tpo': query, image, top"},
      {Json::object(), "'query' is missing"},
  };
  for (const auto& [body, why] : bad) expect_refused(post_json("/v1/search", body), 400, why);
  expect_refused(post_json("/v1/search", {{"query", 999}}), 404, "there is no item 999");
  expect_refused(post_json("/v1/search", {{"query", -3}}), 404, "there is no item -3");
  expect_refused(post_json("/v1/search", {{"query", 18446744073709551615ULL}}), 400, "'query'");
  expect_refused(post_json("/v1/explain", {{"source", 1}}), 400, "'target' is missing");
  expect_refused(post_json("/v1/explain", {{"source", 1}, {"target", 2}, {"solver", "magic"}}), 400,
                 "'solver' must be one of entropic, exact");
  expect_refused(client().get("/v1/items?limit=0"), 400, "'limit' must be");
  expect_refused(client().get("/v1/items?label=" + std::string(1025, 'x')), 400,
                 "'label' must be a word of up to 1024 bytes");
}

TEST_F(Refusals, GridsOfAnotherShapeAndWithoutNumbers) {
  const Json cell = std::vector<double>(kDim, 0.5);
  const auto query = [](const Json& cells) { return Json{{"query", {{"cells", cells}}}}; };
  expect_refused(post_json("/v1/search", query(Json::array({cell}))), 422,
                 "the gallery has grids of 4 x 4 x 16: 'query' needs 16 cells, not 1");
  const Json short_cells(16, Json::array({1.0}));
  expect_refused(post_json("/v1/search", query(short_cells)), 422, "must hold 16 numbers");
  Json texts(16, cell);
  texts[3][2] = "x";
  expect_refused(post_json("/v1/search", query(texts)), 400, "must hold numbers");
  Json huge(16, cell);
  huge[0][0] = 1e300;
  expect_refused(post_json("/v1/search", query(huge)), 422, "query");
  expect_refused(post_json("/v1/rerank", {{"query", 1}, {"candidates", {1, "x"}}}), 400,
                 "'candidates' must be ids");
  expect_refused(post_json("/v1/rerank", {{"query", 1}, {"candidates", {1, 1}}}), 422, "twice");
  expect_refused(post_json("/v1/rerank", {{"query", 1}, {"candidates", {1, 777}}}), 404,
                 "the gallery: has no item 777: list them (in a request: GET /v1/items)");
  expect_refused(
      post_json("/v1/rerank", {{"query", 1}, {"candidates", std::vector<int>(10'001, 1)}}), 413,
      "more than 10000 candidates");
}

TEST_F(Refusals, ImagesThatAreNoneBrokenOrTooLarge) {
  expect_refused(client().post("/v1/search", "hello", "image/jpeg"), 415, "is not a JPEG");
  expect_refused(client().post("/v1/search", "", "image/jpeg"), 422, "the image is empty");
  expect_refused(client().post("/v1/search", photo(0).substr(0, 300), "image/jpeg"), 422,
                 "the image");
  expect_refused(client().post("/v1/search", photo(0), "text/plain"), 415, "image/jpeg");
  expect_refused(client().post("/v1/embed", "{}", "application/json"), 400, "'image' is missing");
  // A tiny PNG whose header declares 3,600,000,000 pixels.
  const std::string bomb(
      "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xea\x60\0\0\xea\x60\x08\x02\0\0\0\x6a\xd1\xbb\xf9", 33);
  const HttpResult answer = client().post("/v1/search", bomb, "image/png");
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->status == 413 || answer->status == 422) << answer->body;
  ServerParams params;
  params.limits.pixels = 96 * 96 - 1;
  serve(params);
  expect_refused(client().post("/v1/search", photo(0), "image/jpeg"), 413,
                 "has 96 x 96 pixels, more than the 9215 allowed");
}

TEST_F(Refusals, BodiesThatAreTooLargeAreNotRead) {
  ServerParams params;
  params.limits.body = 100'000;
  serve(params);
  expect_refused(client().post("/v1/search", std::string(200'000, ' '), "application/json"), 413,
                 "larger than the 100000 bytes");
  const std::string endless =
      raw("POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
          "Content-Length: 99999999999999999999999\r\n\r\n{");
  EXPECT_NE(endless.find("413"), std::string::npos) << endless;
  // In chunks, without a length: the first chunk beyond the limit ends it.
  std::string chunks;
  for (int k = 0; k < 30; ++k) chunks += "2000\r\n" + std::string(0x2000, ' ') + "\r\n";
  const std::string chunked =
      raw("POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
          "Transfer-Encoding: chunked\r\n\r\n" +
          chunks + "0\r\n\r\n");
  EXPECT_NE(chunked.find("HTTP/1.1 413"), std::string::npos) << chunked.substr(0, 300);
  // A chunk length without end.
  const std::string line =
      raw("POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
          "Transfer-Encoding: chunked\r\n\r\n" +
          std::string(500'000, '1'));
  EXPECT_NE(line.find("HTTP/1.1 4"), std::string::npos) << line.substr(0, 300);
}

TEST_F(Refusals, PackedBodiesAreNotUnpacked) {
  const HttpHeaders packed = {{"Content-Encoding", "gzip"}};
  expect_refused(client().post("/v1/search", "\x1f\x8b", "application/json", packed), 415,
                 "compressed");
}

TEST_F(Refusals, PathsThatLeadElsewhere) {
  for (const std::string path :
       {"/../../etc/passwd", "/v1/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/app.js/..",
        "//", "/v1/items/1/../2", "/v1/items/-1", "/v1/items/1e3", "/v1/items/99999999999999999999",
        "/v1/items/%00", "/v1/items/", "/v1", "/apps/web/app.js", "/v1/items/1/thumbnail/x"}) {
    const HttpResult answer = client().get(path);
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 404) << path;
  }
  expect_refused(client().get("/v1/search"), 405, "GET is not supported for this path: POST");
  expect_refused(client().send("PUT", "/v1/items/1", {{"Content-Type", "text/plain"}}, "x"), 405,
                 "PUT is not supported for this path");
  expect_refused(client().send("OPTIONS", "/v1/search", {}), 405,
                 "OPTIONS is not supported for this path");
}

TEST_F(Refusals, HeadsThatNoClientSends) {
  const std::string host = "Host: localhost\r\n";
  const auto status = [&](const std::string& bytes) {
    const std::string answer = raw(bytes);
    return answer.size() > 12 ? answer.substr(9, 3) : answer;
  };
  EXPECT_EQ(status("nonsense\r\n\r\n"), "400");
  EXPECT_EQ(status("GET\r\n\r\n"), "400");
  EXPECT_EQ(status("GET / HTTP/9.9\r\n\r\n"), "505");
  EXPECT_EQ(status("GET http://elsewhere/ HTTP/1.1\r\n" + host + "\r\n"), "400");
  EXPECT_EQ(status("GET /" + std::string(5000, 'a') + " HTTP/1.1\r\n" + host + "\r\n"), "414");
  EXPECT_EQ(status("GET / HTTP/1.1\r\n" + host + "X: " + std::string(40'000, 'a') + "\r\n\r\n"),
            "431");
  std::string many = "GET / HTTP/1.1\r\n" + host;
  for (int k = 0; k < 200; ++k) many += "X-" + std::to_string(k) + ": y\r\n";
  EXPECT_EQ(status(many + "\r\n"), "431");
  EXPECT_EQ(status("GET / HTTP/1.1\r\n" + host + " folded\r\n\r\n"), "400");
  EXPECT_EQ(status(std::string("GET / HTTP/1.1\r\nHost: local\0host\r\n\r\n", 36)), "400");
  EXPECT_EQ(status("GET / HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nhello"), "400");
  EXPECT_EQ(status("POST /v1/search HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n"), "400");
  EXPECT_EQ(status("POST /v1/search HTTP/1.1\r\n" + host +
                   "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
            "400");
  EXPECT_EQ(status("POST /v1/search HTTP/1.1\r\n" + host +
                   "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}"),
            "400");
  EXPECT_EQ(status("POST /v1/search HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip\r\n\r\n"),
            "501");
  EXPECT_EQ(status("\x16\x03\x01\x02\r\n\r\n"), "400");  // a TLS client
  // Thousands of ranges are a known attack on servers.
  std::string ranges = "Range: bytes=0-0";
  while (ranges.size() < 8000) ranges += ",1-1";
  EXPECT_EQ(
      status("GET /app.js HTTP/1.1\r\n" + host + "Connection: close\r\n" + ranges + "\r\n\r\n"),
      "200");
}

TEST_F(Refusals, FormsThatAreBroken) {
  const auto status = [&](const std::string& boundary, const std::string& body) {
    const std::string answer = raw(body_of("/v1/search", body, "multipart/form-data" + boundary));
    return answer.substr(9, 3);
  };
  const std::string name = "Content-Disposition: form-data; name=\"image\"; filename=\"a\"\r\n\r\n";
  EXPECT_EQ(status("", "x"), "400");
  EXPECT_EQ(status("; boundary=b", ""), "400");
  EXPECT_EQ(status("; boundary=b", "--b"), "400");
  EXPECT_EQ(status("; boundary=b", "--b\r\n" + name + "x"), "400");
  EXPECT_EQ(status("; boundary=b", "--b\r\n\r\n\r\nx\r\n--b--"), "400");
  EXPECT_EQ(status("; boundary=" + std::string(5000, 'b'), "--b--"), "400");
  EXPECT_EQ(status("; boundary=b", "--b--"), "400");  // an empty form
  const std::string long_name(2'000'000, 'n');
  EXPECT_EQ(status("; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"" + long_name +
                                       "\"\r\n\r\nx\r\n--b--"),
            "400");
  std::string many;
  for (int k = 0; k < 1000; ++k) many += "--b\r\n" + name + "x\r\n";
  EXPECT_EQ(status("; boundary=b", many + "--b--"), "400");
}

TEST_F(Refusals, SlowClientsAreLetGo) {
  ServerParams params;
  params.limits.receive_seconds = 0.4;
  params.limits.idle_seconds = 0.4;
  serve(params);
  const auto answered = [&](const std::string& first, const std::string& drip) {
    const int socket = raw_socket();
    (void)!::send(socket, first.data(), first.size(), MSG_NOSIGNAL);
    std::string answer;
    const auto start = Clock::now();
    char block[1024];
    // One byte at a time, without a long pause.
    for (ssize_t count = -1; count != 0 && Clock::now() - start < std::chrono::seconds(10);) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      (void)!::send(socket, drip.data(), drip.size(), MSG_NOSIGNAL);
      count = ::recv(socket, block, sizeof(block), MSG_DONTWAIT);
      if (count > 0) answer.append(block, static_cast<std::size_t>(count));
      if (count < 0 && errno != EAGAIN) break;
    }
    ::close(socket);
    return answer;
  };
  EXPECT_NE(answered("GET / HTTP/1.1\r\n", "X").find("HTTP/1.1 408"), std::string::npos);
  EXPECT_NE(answered("POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n"
                     "Content-Type: application/json\r\n\r\n",
                     " ")
                .find("HTTP/1.1 408"),
            std::string::npos);
  EXPECT_EQ(answered("", ""), "");  // no request, no answer
}

TEST_F(Refusals, ADoorThatFellShutIsOpenedAgain) {
  int shut = 0;
  for (int file = 3; file < 1024; ++file) {
    int listens = 0;
    socklen_t size = sizeof(listens);
    if (::getsockopt(file, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) {
      continue;
    }
    ::shutdown(file, SHUT_RDWR);
    ++shut;
  }
  ASSERT_EQ(shut, 1);
  HttpResult answer = client().get("/healthz");
  for (int wait = 0; wait < 100 && !answer; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    answer = client().get("/healthz");
  }
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
}

TEST_F(Refusals, OtherSitesAndOtherNames) {
  const std::string here = "127.0.0.1:" + std::to_string(server_->port());
  const auto asked = [&](const HttpHeaders& headers) { return client().get("/v1/items", headers); };
  EXPECT_EQ(asked({{"Origin", "http://" + here}})->status, 200);
  expect_refused(asked({{"Origin", "https://evil.example"}}), 403, "another site");
  expect_refused(asked({{"Origin", "null"}}), 403, "another site");
  expect_refused(asked({{"Host", "evil.example"}}), 421, "localhost");
}

TEST_F(Refusals, TheTokenIsNeededForEverythingButHealthAndThePage) {
  serve({.tokens = {{"all", "sesame"}}});
  expect_refused(client().get("/v1/items"), 401, "Authorization: Bearer");
  EXPECT_EQ(client().get("/v1/items")->header("WWW-Authenticate"), "Bearer");
  for (const std::string token : {"sesam", "sesamex", "Sesame", ""}) {
    EXPECT_EQ(client().get("/v1/items", {{"Authorization", "Bearer " + token}})->status, 401);
  }
  expect_refused(client().get("/metrics"), 401, "token");
  expect_refused(client().post("/v1/search", "{}", "application/json"), 401, "token");
  const HttpHeaders right = {{"Authorization", "Bearer sesame"}};
  EXPECT_EQ(client().get("/v1/items", right)->status, 200);
  for (const char* path : {"/healthz", "/readyz", "/", "/app.js", "/openapi.json"}) {
    EXPECT_EQ(client().get(path)->status, 200) << path;
  }
}

TEST_F(Refusals, WhoWouldWaitTooLongIsToldToComeBack) {
  ServerParams params;
  params.limits.workers = 1;
  params.limits.waiting = 1;
  serve(params);
  const Json all = {{"query", 0}, {"top", 24}, {"rerank", 24}, {"lambda", 0.001}};
  std::vector<std::thread> clients;
  std::atomic<int> served = 0;
  std::atomic<int> busy = 0;
  std::atomic<int> other = 0;
  for (int t = 0; t < 16; ++t) {
    clients.emplace_back([&] {
      for (int k = 0; k < 10; ++k) {
        const HttpResult answer = post_json("/v1/search", all);
        const int status = answer ? answer->status : 0;
        ++(status == 200 ? served : status == 503 ? busy : other);
        if (status == 503) {
          EXPECT_EQ(answer->header("Retry-After"), "1");
        }
      }
    });
  }
  for (std::thread& thread : clients) thread.join();
  EXPECT_GT(served, 0);
  EXPECT_GT(busy, 0);
  EXPECT_EQ(other, 0);
}

}  // namespace
}  // namespace diml::test
