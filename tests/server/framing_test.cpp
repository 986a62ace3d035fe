// Smuggling: where a request ends, and what must never be taken for the next one.

#include <algorithm>
#include <mutex>

#include <sys/socket.h>
#include <unistd.h>

#include "server/framing_tricks.h"
#include "server/served_gallery.h"

namespace diml::test {
namespace {

class Framing : public ServedGallery {
 protected:
  Framing() {
    ServerParams params;
    // Tricks that leave a request incomplete end soon.
    params.limits.receive_seconds = 0.3;
    params.limits.idle_seconds = 0.3;
    params.served = [this](const ServedRequest& request) {
      const std::lock_guard lock(mutex_);
      seen_.push_back(request);
    };
    serve(params);
  }
  // Before the members below, which the server's threads use.
  void TearDown() override { server_.reset(); }
  std::size_t deletions() {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(
        std::count_if(seen_.begin(), seen_.end(),
                      [](const ServedRequest& request) { return request.method == "DELETE"; }));
  }

  std::mutex mutex_;
  std::vector<ServedRequest> seen_;
};

TEST_F(Framing, WhatHidesBehindATrickIsNeverCarriedOut) {
  for (const FramingTrick& trick : framing_tricks()) {
    const std::string answer = raw(trick.bytes + kHidden);
    EXPECT_EQ(deletions(), 0u) << trick.name << "\n" << trick.bytes << "\n" << answer;
    ASSERT_TRUE(gallery_->snapshot()->contains(1)) << trick.name << "\n" << trick.bytes;
    EXPECT_EQ(answer.find("HTTP/1.1 2"), std::string::npos) << trick.name << "\n" << answer;
  }
  // The same bytes as a request of their own are carried out.
  EXPECT_NE(raw(kHidden).find("HTTP/1.1 200"), std::string::npos);
  EXPECT_FALSE(gallery_->snapshot()->contains(1));
}

TEST_F(Framing, AConnectionEndsAtTheFirstMistakeHoweverItArrives) {
  const FramingTrick trick = {"",
                              "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
                              "chunked\r\n\r\n2\r\n{}XX\r\n0\r\n\r\n"};
  for (const std::size_t size : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
    const std::string bytes = trick.bytes + kHidden;
    const int socket = raw_socket();
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      (void)!::send(socket, bytes.data() + at, std::min(size, bytes.size() - at), MSG_NOSIGNAL);
    }
    char block[4096];
    while (::recv(socket, block, sizeof(block), 0) > 0) {
    }
    ::close(socket);
  }
  EXPECT_EQ(deletions(), 0u);
}

TEST_F(Framing, ExtensionsAndTrailersOfTheRfcAreTaken) {
  HttpClient one = client();
  const std::string body = "{\"query\": 1, \"top\": 1}";
  for (const std::string& chunks : {"16;a\r\n" + body + "\r\n0\r\n\r\n",
                                    "0016 ; a = \"b;\\\" c\" ;d\r\n" + body + "\r\n000\r\n\r\n",
                                    "16\r\n" + body + "\r\n0;last\r\nX-Sum: 1\r\nY:\r\n\r\n"}) {
    ASSERT_TRUE(
        one.write("POST /v1/search HTTP/1.1\r\nHost: LocalHost\r\nContent-Type: "
                  "application/json\r\nTransfer-Encoding: CHUNKED\r\n\r\n" +
                  chunks));
    const HttpResult answer = one.read_answer();
    ASSERT_TRUE(answer) << chunks;
    EXPECT_EQ(answer->status, 200) << chunks << answer->body;
  }
  EXPECT_EQ(one.connections(), 1);
}

TEST_F(Framing, HostsAreComparedWithoutCase) {
  const std::string port = std::to_string(server_->port());
  const HttpHeaders both = {{"Host", "LOCALHOST:" + port}, {"Origin", "http://localhost:" + port}};
  EXPECT_EQ(client().get("/v1/items", both)->status, 200);
  EXPECT_EQ(client().get("/v1/items", {{"Host", "EVIL.example"}})->status, 421);
}

}  // namespace
}  // namespace diml::test
