// Three servers of one gallery behind a proxy, of which one is always about to be killed:
// server_fleet PROGRAM GALLERY CONFIGURATION [SECONDS] [CLIENTS] [EVERY]. CONFIGURATION is
// deploy/nginx-servers.conf or deploy/haproxy.cfg; every EVERY seconds a server is killed, by
// SIGKILL and by SIGTERM in turn, and started again a second later. Fails where a client gets no
// answer, or another one than a single server gives. Ends with 77 where the proxy is not installed.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "server/http_client.h"
#include "server/proxy.h"
#include "server_process.h"

namespace {

using diml::test::HttpClient;
using diml::test::HttpResult;
using diml::test::Proxy;
using diml::test::ServerProcess;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

constexpr std::size_t kServers = 3;
constexpr std::array<const char*, kServers> kPorts = {"8081", "8082", "8083"};  // in both files
constexpr int kQueries = 200;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::string request(int query) {
  const std::string body = Json{{"query", {{"id", query}}}, {"top", 10}}.dump();
  return "POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
         "Content-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

// One exchange on one connection: whoever waits in vain for an answer has none.
HttpResult asked(HttpClient& client, int query) {
  if (!client.write(request(query))) return std::nullopt;
  return client.read_answer();
}

std::string hits_in(const std::string& body) { return Json::parse(body).at("hits").dump(); }

struct Tally {
  std::mutex mutex;
  std::vector<double> milliseconds;
  std::size_t failed = 0;
  std::size_t different = 0;
  std::string example;
  std::atomic<bool> stop{false};
};

void run_client(int number, int port, const std::vector<std::string>& wanted, Tally& tally) {
  auto client = std::make_unique<HttpClient>(port);
  std::mt19937 random(static_cast<unsigned>(number));
  std::vector<double> milliseconds;
  while (!tally.stop) {
    const int query = static_cast<int>(random() % wanted.size());
    const auto start = Clock::now();
    const HttpResult answer = asked(*client, query);
    milliseconds.push_back(milliseconds_since(start));
    const bool is_good = answer && answer->status == 200;
    if (is_good && hits_in(answer->body) == wanted[static_cast<std::size_t>(query)]) continue;
    const std::lock_guard lock(tally.mutex);
    ++(is_good ? tally.different : tally.failed);
    tally.example = answer ? std::to_string(answer->status) + " " + answer->body : "no answer";
    if (!answer) client = std::make_unique<HttpClient>(port);
  }
  const std::lock_guard lock(tally.mutex);
  tally.milliseconds.insert(tally.milliseconds.end(), milliseconds.begin(), milliseconds.end());
}

class Fleet {
 public:
  Fleet(std::string program, std::string gallery)
      : program_(std::move(program)), gallery_(std::move(gallery)) {
    for (std::size_t s = 0; s < kServers; ++s) {
      ports_[s] = Proxy::free_port();
      start(s);
    }
  }
  const std::array<int, kServers>& ports() const { return ports_; }
  void start(std::size_t s) {
    servers_[s] = std::make_unique<ServerProcess>(
        program_, gallery_, ports_[s],
        std::vector<std::string>{"--read-only", "--threads", "1", "--trusted-proxy", "127.0.0.1"});
  }
  void end(std::size_t s, bool politely) {
    if (politely) {
      servers_[s]->stop();
    } else {
      servers_[s]->kill();
    }
  }

 private:
  std::string program_;
  std::string gallery_;
  std::array<int, kServers> ports_{};
  std::array<std::unique_ptr<ServerProcess>, kServers> servers_;
};

double percentile(std::vector<double>& values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

int run(const std::string& program, const std::string& gallery, const std::string& configuration,
        double seconds, int clients, double every) {
  if (Proxy::program_for(configuration).empty()) {
    std::printf("no proxy for %s on this machine (packages nginx, haproxy)\n",
                configuration.c_str());
    return 77;
  }
  Fleet fleet(program, gallery);
  std::vector<std::string> wanted;
  {
    HttpClient alone(fleet.ports()[0]);
    for (int query = 0; query < kQueries; ++query) {
      const HttpResult answer = asked(alone, query);
      if (!answer || answer->status != 200) throw std::runtime_error("a server answers nothing");
      wanted.push_back(hits_in(answer->body));
    }
  }
  std::map<std::string, int> ports;
  for (std::size_t s = 0; s < kServers; ++s) ports[kPorts[s]] = fleet.ports()[s];
  const Proxy proxy(configuration, ports);
  Tally tally;
  std::vector<std::thread> threads;
  for (int c = 0; c < clients; ++c) {
    threads.emplace_back([&, c] { run_client(c, proxy.port(), wanted, tally); });
  }
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::size_t killed = 0;
  while (true) {
    std::this_thread::sleep_for(std::chrono::duration<double>(every / 2));
    if (Clock::now() >= end) break;
    fleet.end(killed % kServers, killed % 2 == 1);
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(1.0, every / 4)));
    fleet.start(killed % kServers);
    ++killed;
    std::this_thread::sleep_for(std::chrono::duration<double>(every / 4));
  }
  tally.stop = true;
  for (std::thread& thread : threads) thread.join();
  std::vector<double>& values = tally.milliseconds;
  std::printf(
      "%d clients, %.0f s, %zu times a server was killed: %zu requests, %zu failed, %zu other "
      "answers; p50 %.1f ms, p99 %.1f ms, most %.1f ms\n",
      clients, seconds, killed, values.size(), tally.failed, tally.different,
      percentile(values, 0.5), percentile(values, 0.99), percentile(values, 1.0));
  if (tally.failed + tally.different == 0 && killed > 0) return 0;
  std::fprintf(stderr, "server_fleet: %s\n",
               killed == 0 ? "no server was killed: give it more time" : tally.example.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 4) {
      throw std::runtime_error(
          "server_fleet PROGRAM GALLERY CONFIGURATION [SECONDS] [CLIENTS] [EVERY]");
    }
    return run(argv[1], argv[2], argv[3], argc > 4 ? std::stod(argv[4]) : 120.0,
               argc > 5 ? std::stoi(argv[5]) : 64, argc > 6 ? std::stod(argv[6]) : 10.0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "server_fleet: %s\n", error.what());
    return 1;
  }
}
