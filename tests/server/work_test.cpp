// What one request may compute: refused before it starts, cancelled while it runs.

#include <atomic>
#include <chrono>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

#include "server/held_store.h"
#include "server/served_gallery.h"
#include "work_budget.h"

namespace diml::test {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Work : public ServedGallery {
 protected:
  // Every pair takes all of its iterations: about a tenth of a second a pair.
  static ServerParams endless() {
    ServerParams params;
    params.backend = Backend::reference;
    params.match.transport.tolerance = 1e-300;
    params.match.transport.max_iterations = 40'000;
    params.limits.work = 1e30;
    params.limits.workers = 2;
    return params;
  }
  // Minutes of computing.
  static Json much() {
    Json candidates = Json::array();
    for (std::size_t k = 0; k < 2000; ++k) {
      Json cells = Json::array();
      for (std::size_t c = 0; c < 16; ++c) {
        Json cell = Json::array();
        for (std::size_t d = 0; d < kDim; ++d) cell.push_back((k * 7 + c * 5 + d * 3) % 11);
        cells.push_back(cell);
      }
      candidates.push_back({{"cells", cells}});
    }
    return {{"query", 0}, {"candidates", candidates}, {"lambda", 0.001}};
  }
  bool comes_to_rest(double seconds) const {
    const auto start = Clock::now();
    while (seconds_since(start) < seconds) {
      if (metric("diml_requests_running") == 0.0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
  void wait_until_it_runs() const {
    for (int look = 0; look < 4000 && metric("diml_requests_running") < 1.0; ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
};

TEST_F(Work, MoreThanAllowedIsRefusedWithTheAllowedFigure) {
  ServerParams params;
  // Ten pairs of 16 cells and 1000 iterations.
  params.limits.work = 10 * 16.0 * 16 * 1000;
  serve(params);
  const auto search = [&](std::size_t rerank) {
    return post_json("/v1/search", {{"query", 0}, {"rerank", rerank}});
  };
  EXPECT_EQ(search(10)->status, 200);
  expect_refused(search(11), 422, "ask for at most 10 candidates");
  // No more pairs than there are images.
  expect_refused(search(1000), 422, "matching 24 candidates of 16 cells may take 6.14e+06 steps");
  const auto rerank = [&](std::size_t count) {
    Json ids = Json::array();
    for (std::size_t k = 0; k < count; ++k) ids.push_back(k);
    return post_json("/v1/rerank", {{"query", 0}, {"candidates", ids}});
  };
  EXPECT_EQ(rerank(10)->status, 200);
  expect_refused(rerank(11), 422, "more than the 2.56e+06 that this server allows");
  // Through logarithms a step counts a hundredfold: not even one pair.
  for (const char* path : {"/v1/compare", "/v1/explain"}) {
    const Json pair = {{"source", 0}, {"target", 1}};
    EXPECT_EQ(post_json(path, pair)->status, 200);
    Json slow = pair;
    slow["lambda"] = 0.001;
    expect_refused(post_json(path, slow), 422, "ask for at most 0 pairs or a larger lambda");
  }
}

TEST(WorkBudget, TheDefaultLetsEveryDefaultSearchThrough) {
  const ServerLimits limits;
  const MatchParams match;
  const double of_pair = server::steps_of_pair(kMostCells, kMostCells, match, Backend::cpu);
  EXPECT_GE(limits.work, 1000 * of_pair);
  // Of 7 x 7 cells also the largest re-ranking.
  EXPECT_GE(limits.work, 10'000 * server::steps_of_pair(49, 49, match, Backend::cpu));
  MatchParams small = match;
  small.transport.lambda = 0.001;
  EXPECT_LT(limits.work, 1000 * server::steps_of_pair(49, 49, small, Backend::cpu));
}

TEST_F(Work, EndsAtTheDeadline) {
  ServerParams params = endless();
  params.limits.answer_seconds = 0.5;
  serve(params);
  const auto start = Clock::now();
  expect_refused(post_json("/v1/rerank", much()), 503, "took longer than this server allows");
  EXPECT_LT(seconds_since(start), 20.0);
  EXPECT_EQ(client().get("/healthz")->status, 200);
}

TEST_F(Work, EndsWhenTheClientIsGone) {
  serve(endless());
  const int socket = raw_socket();
  const std::string body = much().dump();
  const std::string request =
      "POST /v1/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  ASSERT_EQ(::send(socket, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  wait_until_it_runs();
  ::close(socket);
  EXPECT_TRUE(comes_to_rest(20.0));
}

TEST_F(Work, EndsWithTheServer) {
  ServerParams params = endless();
  params.limits.stop_seconds = 0.3;
  serve(params);
  std::atomic<int> status{0};
  std::thread client_of_it([&] {
    const HttpResult answer = post_json("/v1/rerank", much());
    status = answer ? answer->status : -1;
  });
  wait_until_it_runs();
  const auto start = Clock::now();
  server_->stop();
  // The grace, a block of pairs (about a second here) and the last moment for answers.
  EXPECT_LT(seconds_since(start), 4.0);
  client_of_it.join();
  // The answer, or a closed connection where this machine is busy.
  EXPECT_TRUE(status == 503 || status == -1) << status;
}

TEST_F(Work, AChangeThatWaitsForAnotherProcessEndsWithTheServer) {
  ServerParams params;
  params.port = 0;
  params.limits.stop_seconds = 0.3;
  server_.reset();
  const auto held = std::make_shared<HeldStore>(gallery_);
  server_ = std::make_unique<Server>(held, nullptr, "no photos here", params);
  held->hold(true);
  std::atomic<int> status{0};
  std::thread client_of_it([&] {
    const HttpResult answer = client().remove("/v1/items/3");
    status = answer ? answer->status : -1;
  });
  held->await(1);
  const auto start = Clock::now();
  server_->stop();
  EXPECT_LT(seconds_since(start), 2.0);
  server_.reset();
  EXPECT_LT(seconds_since(start), 3.0);
  client_of_it.join();
  EXPECT_TRUE(status == 503 || status == -1) << status;
  held->hold(false);
}

// The time for answers is not added to that of requests.
TEST_F(Work, AnAnswerThatNobodyTakesDoesNotOutlastTheGrace) {
  ServerParams params;
  params.port = 0;
  params.limits.stop_seconds = 1.2;
  server_.reset();
  const auto held = std::make_shared<HeldStore>(gallery_);
  server_ = std::make_unique<Server>(held, nullptr, "no photos here", params);
  held->hold(true);
  std::thread client_of_it([&] { (void)client().remove("/v1/items/3"); });
  held->await(1);
  const int socket = raw_socket();
  std::string many;
  for (int k = 0; k < 200; ++k) many += "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
  (void)!::send(socket, many.data(), many.size(), MSG_NOSIGNAL);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const auto start = Clock::now();
  server_->stop();
  EXPECT_LT(seconds_since(start), 2.2);
  held->hold(false);
  client_of_it.join();
  ::close(socket);
}

TEST_F(Work, AClientThatSendsNothingMoreDoesNotKeepTheServerFromStopping) {
  ServerParams params;
  params.limits.stop_seconds = 0.2;
  serve(params);
  const int socket = raw_socket();
  const std::string request =
      "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 1000\r\n\r\n{";
  ASSERT_GT(::send(socket, request.data(), request.size(), MSG_NOSIGNAL), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto start = Clock::now();
  server_->stop();
  EXPECT_LT(seconds_since(start), 2.0);
  ::close(socket);
}

}  // namespace
}  // namespace diml::test
