// HTTP itself: forms of connections, bodies and answers.

#include <cstdio>

#include "server/served_gallery.h"

namespace diml::test {
namespace {

class Http : public ServedGallery {
 protected:
  static constexpr const char* kHealth = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

  static std::string chunked_search(const std::string& chunks) {
    return "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
           "Transfer-Encoding: chunked\r\n\r\n" +
           chunks;
  }
  static std::size_t count(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++found;
    return found;
  }
};

TEST_F(Http, AConnectionIsKeptFromRequestToRequest) {
  HttpClient one = client();
  for (int k = 0; k < 5; ++k) {
    EXPECT_EQ(one.get("/healthz")->status, 200);
    EXPECT_EQ(one.post("/v1/search", "{\"query\": 1}", "application/json")->status, 200);
    // Answers that refuse a complete request do not close it either.
    EXPECT_EQ(one.get("/v1/items/999")->status, 404);
    EXPECT_EQ(one.get("/nothing")->status, 404);
    EXPECT_EQ(one.post("/v1/search", "{", "application/json")->status, 400);
  }
  EXPECT_EQ(one.connections(), 1);
}

TEST_F(Http, AConnectionEndsWhenTheClientSaysSo) {
  const std::string once =
      raw("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Close\r\n\r\n");
  EXPECT_EQ(count(once, "HTTP/1.1 200 OK\r\n"), 1u);
  EXPECT_EQ(count(once, "Connection: close\r\n"), 1u);
  EXPECT_EQ(count(raw("GET /healthz HTTP/1.0\r\n\r\n"), " 200 OK\r\n"), 1u);
}

TEST_F(Http, AClientOfVersionOneZeroMayAskForMore) {
  HttpClient one = client();
  for (int k = 0; k < 2; ++k) {
    ASSERT_TRUE(one.write("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    const HttpResult answer = one.read_answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->header("Connection"), "keep-alive");
  }
  EXPECT_EQ(one.connections(), 1);
}

TEST_F(Http, RequestsInOnePacketAreAnsweredInTheirOrder) {
  HttpClient one = client();
  const std::string body = "{\"query\": 5, \"top\": 1}";
  ASSERT_TRUE(one.write(std::string(kHealth) +
                        "GET /v1/items/7 HTTP/1.1\r\nHost: localhost\r\n\r\n" +
                        "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                        "application/json\r\nContent-Length: " +
                        std::to_string(body.size()) + "\r\n\r\n" + body + kHealth));
  EXPECT_EQ(Json::parse(one.read_answer()->body).at("status"), "ok");
  EXPECT_EQ(Json::parse(one.read_answer()->body).at("id"), 7);
  EXPECT_EQ(Json::parse(one.read_answer()->body).at("hits").size(), 1u);
  EXPECT_EQ(Json::parse(one.read_answer()->body).at("status"), "ok");
  EXPECT_EQ(one.connections(), 1);
}

TEST_F(Http, AHeadIsAnsweredAsAGetWithoutItsBody) {
  HttpClient one = client();
  for (const char* path : {"/", "/healthz", "/v1/items/3", "/v1/items/3/thumbnail"}) {
    const HttpHeaders same_id = {{"X-Request-Id", "same"}};
    const HttpResult whole = one.get(path, same_id);
    const HttpResult head = one.send("HEAD", path, same_id);
    ASSERT_TRUE(whole && head) << path;
    EXPECT_EQ(head->status, 200) << path;
    EXPECT_EQ(head->headers, whole->headers) << path;
    EXPECT_EQ(head->header("Content-Length"), std::to_string(whole->body.size())) << path;
    EXPECT_EQ(head->body, "") << path;
  }
  EXPECT_EQ(one.send("HEAD", "/v1/items/999", {})->status, 404);
  EXPECT_EQ(one.get("/healthz")->status, 200);
  EXPECT_EQ(one.connections(), 1);
}

TEST_F(Http, ABodyMayComeInChunksOfAnySize) {
  const std::string body = "{\"query\": 5, \"top\": 2}";
  HttpClient one = client();
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, body.size()}) {
    std::string chunks;
    for (std::size_t at = 0; at < body.size(); at += size) {
      const std::string piece = body.substr(at, size);
      char length[16];
      std::snprintf(length, sizeof(length), "%zX", piece.size());
      chunks += std::string(length) + ";name=value\r\n" + piece + "\r\n";
    }
    // The trailer after the last chunk belongs to the request and is ignored.
    const std::string bytes = chunked_search(chunks + "0\r\nX-Trailer: x\r\n\r\n");
    for (std::size_t at = 0; at < bytes.size(); at += 11) {
      ASSERT_TRUE(one.write(bytes.substr(at, 11)));
    }
    const HttpResult answer = one.read_answer();
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->status, 200) << answer->body;
    EXPECT_EQ(Json::parse(answer->body).at("hits").size(), 2u);
  }
  EXPECT_EQ(one.connections(), 1);
}

TEST_F(Http, WhatCannotBeFramedEndsTheConnection) {
  const std::string smuggled = kHealth;
  for (const std::string& bytes :
       {chunked_search("x\r\n") + smuggled, chunked_search("-1\r\n") + smuggled,
        chunked_search("2\r\n{}XX0\r\n\r\n") + smuggled,
        chunked_search("ffffffffffffffffff\r\n") + smuggled,
        chunked_search("0\r\nContent-Length: 5\r\n\r\n") + smuggled,
        "POST /v1/search HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n" + smuggled,
        "GET /healthz HTTP/1.1\r\nContent-Length: 5\r\n\r\n" + smuggled}) {
    const std::string answer = raw(bytes);
    EXPECT_EQ(count(answer, "HTTP/1.1 "), 1u) << bytes << "\n" << answer;
    EXPECT_EQ(count(answer, "HTTP/1.1 4"), 1u) << bytes << "\n" << answer;
    EXPECT_EQ(count(answer, "Connection: close\r\n"), 1u) << answer;
  }
}

TEST_F(Http, WhoWaitsForAWordBeforeItsBodyGetsOne) {
  const std::string body = photo(3);
  const std::string head =
      "POST /v1/search?top=1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/jpeg\r\n"
      "Expect: 100-continue\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n";
  HttpClient one = client();
  ASSERT_TRUE(one.write(head));
  const HttpResult go_on = one.read_answer();
  ASSERT_TRUE(go_on);
  EXPECT_EQ(go_on->status, 100);
  ASSERT_TRUE(one.write(body));
  const HttpResult answer = one.read_answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200) << answer->body;
  // A refused client gets no 100 Continue, and need not send the body.
  serve({.tokens = {{"all", "sesame"}}});
  const std::string refused = raw(head);
  EXPECT_EQ(refused.substr(0, 12), "HTTP/1.1 401");
}

TEST_F(Http, AMethodThatIsNotTakenLearnsWhichAre) {
  const HttpResult answer = client().send("PATCH", "/v1/items", {});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 405);
  EXPECT_EQ(answer->header("Allow"), "GET, POST");
}

}  // namespace
}  // namespace diml::test
