// Slow clients, many clients, and those that keep the server busy: others are answered meanwhile.

#include <atomic>
#include <chrono>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/held_store.h"
#include "server/served_gallery.h"

namespace diml::test {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Clients : public ServedGallery {
 protected:
  ~Clients() override {
    for (const int one : sockets_) ::close(one);
    if (held_) held_->hold(false);
    server_.reset();
  }

  // A connection from an address of this machine, with these bytes on it.
  int connect_from(const std::string& address, const std::string& bytes, int buffer = 0) {
    const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (buffer > 0) ::setsockopt(made, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
    sockaddr_in place{};
    place.sin_family = AF_INET;
    ::inet_pton(AF_INET, address.c_str(), &place.sin_addr);
    EXPECT_EQ(::bind(made, reinterpret_cast<sockaddr*>(&place), sizeof(place)), 0) << address;
    place.sin_port = htons(static_cast<std::uint16_t>(server_->port()));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(made, reinterpret_cast<sockaddr*>(&place), sizeof(place)), 0);
    (void)!::send(made, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    sockets_.push_back(made);
    return made;
  }
  static bool is_closed(int socket, int milliseconds) {
    pollfd one{socket, POLLIN, 0};
    if (::poll(&one, 1, milliseconds) <= 0) return false;
    char next = 0;
    return ::recv(socket, &next, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
  }
  static std::string answer_on(int socket) {
    std::string answer;
    char block[4096];
    pollfd one{socket, POLLIN, 0};
    while (::poll(&one, 1, 5000) > 0) {
      const ssize_t count = ::recv(socket, block, sizeof(block), 0);
      if (count <= 0) break;
      answer.append(block, static_cast<std::size_t>(count));
    }
    return answer;
  }
  void await_connections(double count) const {
    for (int wait = 0; wait < 200 && metric("diml_connections") < count; ++wait) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  // Serves a store whose changes wait while it is held.
  void serve_held(ServerParams params) {
    server_.reset();
    held_ = std::make_shared<HeldStore>(gallery_);
    params.port = 0;
    server_ = std::make_unique<Server>(held_, nullptr, "no photos here", params);
  }

  std::vector<int> sockets_;
  std::shared_ptr<HeldStore> held_;
};

const std::string kSlowHead = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ";
const std::string kSlowBody =
    "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    "Content-Length: 5000\r\n\r\n{";

TEST_F(Clients, SlowOnesDoNotShutOutOthers) {
  for (int k = 0; k < 150; ++k) connect_from("127.0.0.1", k % 2 == 0 ? kSlowHead : kSlowBody);
  for (int k = 0; k < 150; ++k) connect_from("127.0.0.1", "");
  const auto start = Clock::now();
  for (int k = 0; k < 20; ++k) {
    HttpClient one = client();  // from the same address, each time a new connection
    ASSERT_EQ(one.get("/healthz")->status, 200);
    ASSERT_EQ(one.post("/v1/search", "{\"query\": 1}", "application/json")->status, 200);
  }
  EXPECT_LT(seconds_of(start), 5.0);
}

TEST_F(Clients, OneAddressHasHalfOfThePlacesAndTheOldestGivesWay) {
  ServerParams params;
  params.limits.connections = 8;
  serve(params);
  std::vector<int> of_one;
  for (int k = 0; k < 4; ++k) {
    of_one.push_back(connect_from("127.0.0.2", kSlowHead));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(is_closed(of_one[0], 50));
  connect_from("127.0.0.2", kSlowHead);
  EXPECT_TRUE(is_closed(of_one[0], 2000));
  EXPECT_FALSE(is_closed(of_one[1], 50));
  for (const char* other : {"127.0.0.3", "127.0.0.4", "127.0.0.5"}) {
    HttpClient one(server_->port(), other);
    EXPECT_EQ(one.get("/healthz")->status, 200) << other;
  }
}

TEST_F(Clients, AFullHouseMakesRoomAtTheCostOfTheLargestAddress) {
  ServerParams params;
  params.limits.connections = 6;
  params.limits.connections_of_one = 6;
  serve(params);
  std::vector<int> of_one;
  for (int k = 0; k < 6; ++k) of_one.push_back(connect_from("127.0.0.2", kSlowHead));
  for (int k = 3; k < 6; ++k) {
    HttpClient other(server_->port(), "127.0.0." + std::to_string(k));
    EXPECT_EQ(other.get("/healthz")->status, 200) << k;
  }
  int closed = 0;
  for (const int one : of_one) closed += is_closed(one, 50) ? 1 : 0;
  EXPECT_GE(closed, 1);
  EXPECT_GE(metric("diml_connections_closed_total"), closed);
}

TEST_F(Clients, AProxyHasMoreThanOneShare) {
  ServerParams params;
  params.limits.connections = 8;
  params.trusted_proxies = {"127.0.0.2"};
  serve(params);
  std::vector<int> of_proxy;
  for (int k = 0; k < 6; ++k) of_proxy.push_back(connect_from("127.0.0.2", kSlowHead));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  for (const int one : of_proxy) EXPECT_FALSE(is_closed(one, 1));
}

TEST_F(Clients, WhoFindsNoPlaceIsToldSoAtOnce) {
  ServerParams params;
  params.limits.connections = 3;
  params.limits.connections_of_one = 3;
  serve_held(params);
  held_->hold(true);
  // In progress: nobody of these can be sent away.
  for (int k = 0; k < 3; ++k) {
    connect_from("127.0.0.1",
                 "DELETE /v1/items/" + std::to_string(k) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  held_->await(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  for (int k = 0; k < 20; ++k) {
    const auto start = Clock::now();
    const HttpResult answer = client().get("/v1/gallery");
    expect_refused(answer, 503, "too many connections");
    EXPECT_EQ(answer->header("Retry-After"), "1");
    EXPECT_EQ(answer->header("X-Request-Id").size(), 32u);
    EXPECT_LT(seconds_of(start), 0.5);
  }
  held_->hold(false);
  HttpResult again;
  for (int wait = 0; wait < 200 && (!again || again->status != 200); ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    again = client().get("/v1/gallery");
  }
  ASSERT_TRUE(again);
  EXPECT_EQ(again->status, 200);
  EXPECT_GE(metric("diml_connections_refused_total"), 20.0);
}

TEST_F(Clients, AHeadAndABodyHaveTheirRates) {
  ServerParams params;
  params.limits.head_seconds = 0.3;
  params.limits.body_seconds = 0.3;
  params.limits.body_rate = 20'000;
  serve(params);
  const int head = connect_from("127.0.0.1", kSlowHead);
  const int body = connect_from("127.0.0.1", kSlowBody);
  const int quick = connect_from("127.0.0.1",
                                 "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                                 "application/json\r\nContent-Length: 40012\r\nConnection: "
                                 "close\r\n\r\n{");
  // At 40,000 bytes a second for a second.
  for (int k = 0; k < 20; ++k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const std::string some(2000, ' ');
    ASSERT_EQ(::send(quick, some.data(), some.size(), MSG_NOSIGNAL), 2000);
  }
  (void)!::send(quick, "\"query\": 1}", 11, MSG_NOSIGNAL);
  EXPECT_EQ(answer_on(head).substr(0, 12), "HTTP/1.1 408");
  EXPECT_EQ(answer_on(body).substr(0, 12), "HTTP/1.1 408");
  EXPECT_EQ(answer_on(quick).substr(0, 12), "HTTP/1.1 200");
}

TEST_F(Clients, AnswersThatNobodyTakesKeepNoThread) {
  ServerParams params;
  params.limits.requests = 1;
  params.limits.idle_seconds = 60.0;
  serve(params);
  std::string many;
  for (int k = 0; k < 200; ++k) many += "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
  connect_from("127.0.0.2", many, 2048);
  for (int k = 0; k < 10; ++k) {
    const auto start = Clock::now();
    EXPECT_EQ(client().get("/v1/gallery")->status, 200);
    EXPECT_LT(seconds_of(start), 2.0);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

TEST_F(Clients, AnAnswerLargerThanTheSocketArrivesWhole) {
  std::atomic<std::uint64_t> told = 0;
  ServerParams params;
  params.served = [&](const ServedRequest& request) { told = request.bytes; };
  serve(params);
  const std::string whole = client().get("/openapi.json")->body;
  const int slow = connect_from("127.0.0.1",
                                "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n"
                                "Connection: close\r\n\r\n",
                                2048);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::string answer = answer_on(slow);
  EXPECT_EQ(answer.substr(answer.find("\r\n\r\n") + 4), whole);
  EXPECT_EQ(told, whole.size());
  server_.reset();
}

TEST_F(Clients, MonitoringIsAnsweredWhileAllThreadsAreBusy) {
  ServerParams params;
  params.limits.requests = 2;
  serve_held(params);
  held_->hold(true);
  for (int k = 0; k < 6; ++k) {
    connect_from("127.0.0.1",
                 "DELETE /v1/items/" + std::to_string(k) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  held_->await(1);
  for (const char* path : {"/healthz", "/readyz", "/metrics"}) {
    const auto start = Clock::now();
    EXPECT_EQ(client().get(path)->status, 200) << path;
    EXPECT_LT(seconds_of(start), 1.0) << path;
  }
}

TEST_F(Clients, MonitoringIsAnsweredWhileRequestsInProgressTakeAllPlaces) {
  ServerParams params;
  params.limits.connections = 16;
  params.limits.connections_of_one = 8;
  params.limits.requests = 2;
  serve_held(params);
  held_->hold(true);
  for (int k = 0; k < 16; ++k) {
    connect_from(k % 2 == 0 ? "127.0.0.2" : "127.0.0.3",
                 "DELETE /v1/items/" + std::to_string(k) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  held_->await(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  // More that say nothing do not take the reserve for long.
  for (int k = 0; k < 100; ++k) connect_from("127.0.0.2", "");
  for (int k = 0; k < 10; ++k) {
    for (const char* path : {"/healthz", "/readyz", "/metrics"}) {
      const auto start = Clock::now();
      HttpClient one = client();
      ASSERT_EQ(one.get(path)->status, 200) << path;
      EXPECT_LT(seconds_of(start), 1.0) << path;
    }
    // The reserve is for nothing else.
    expect_refused(client().get("/v1/gallery"), 503, "too many connections");
    expect_refused(client().post("/v1/search", "{\"query\": 1}", "application/json"), 503,
                   "too many connections");
  }
  EXPECT_EQ(metric("diml_connections"), 16.0);
}

TEST_F(Clients, AThreadIsLeftForAClientWhoHasNone) {
  ServerParams params;
  params.limits.requests = 8;
  serve_held(params);
  held_->hold(true);
  for (int k = 0; k < 20; ++k) {
    connect_from("127.0.0.2",
                 "DELETE /v1/items/" + std::to_string(k) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  held_->await(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  HttpClient other(server_->port(), "127.0.0.3");
  const auto start = Clock::now();
  EXPECT_EQ(other.post("/v1/search", "{\"query\": 21}", "application/json")->status, 200);
  EXPECT_LT(seconds_of(start), 2.0);
}

TEST_F(Clients, RequestsInARowOnOneConnectionAreAnsweredInOrder) {
  std::string many;
  for (int k = 0; k < 24; ++k) {
    many += "GET /v1/items/" + std::to_string(k) + " HTTP/1.1\r\nHost: localhost\r\n" +
            (k == 23 ? "Connection: close\r\n\r\n" : "\r\n");
  }
  const std::string answers = raw(many);
  std::size_t at = 0;
  for (int k = 0; k < 24; ++k) {
    at = answers.find("{\"id\":" + std::to_string(k) + ",", at);
    ASSERT_NE(at, std::string::npos) << k;
  }
}

TEST_F(Clients, ChangesThatWaitDoNotKeepSearchesFromWorkers) {
  ServerParams params;
  params.limits.workers = 1;
  params.limits.write_seconds = 0.5;
  serve_held(params);
  held_->hold(true);
  std::vector<std::thread> writers;
  std::atomic<int> refused = 0;
  for (int k = 0; k < 3; ++k) {
    writers.emplace_back([this, k, &refused] {
      const HttpResult answer = client().remove("/v1/items/" + std::to_string(k));
      if (answer && answer->status == 503) ++refused;
    });
  }
  held_->await(1);
  for (int k = 0; k < 5; ++k) posted("/v1/search", {{"query", 20}, {"top", 3}});
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(refused, 3);
  EXPECT_NE(got("/readyz").at("writing"), "works");
  held_->hold(false);
  EXPECT_EQ(client().remove("/v1/items/9")->status, 200);
  EXPECT_EQ(got("/readyz").at("writing"), "works");
  // Those that had not begun were not carried out later.
  EXPECT_TRUE(gallery_->snapshot()->contains(1) || gallery_->snapshot()->contains(2));
}

TEST_F(Clients, ANearlyFullGalleryIsToldToWhoeverWatches) {
  serve_held({});
  EXPECT_EQ(got("/readyz").at("space"), "enough");
  held_->tell({.used = 960, .free = 70, .most = 1000});
  EXPECT_EQ(got("/readyz").at("space"), "enough");
  held_->tell({.used = 960, .free = 50, .most = 1000});
  EXPECT_EQ(got("/readyz").at("space").get<std::string>().find("nearly full: more than 90 %"), 0u);
  EXPECT_EQ(metric("diml_gallery_bytes"), 960.0);
  EXPECT_EQ(metric("diml_gallery_free_bytes"), 50.0);
  EXPECT_EQ(metric("diml_gallery_most_bytes"), 1000.0);
}

}  // namespace
}  // namespace diml::test
