// Many clients of one server at once: server_load PROGRAM GALLERY PHOTO [SECONDS] [CLIENTS]. Starts
// `diml serve`, mixes searches, comparisons, photos, additions and deletions, and prints latencies
// and memory. Fails on any error, on an item that is lost, and where memory grows.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "server/http_client.h"
#include "server_process.h"

namespace {

using diml::test::HttpClient;
using diml::test::HttpResult;
using diml::test::ServerProcess;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

struct Tally {
  std::mutex mutex;
  std::map<std::string, std::vector<double>> milliseconds;  // by kind of request
  std::vector<std::string> errors;
  std::set<std::int64_t> mine;  // items that were added and not deleted
  std::atomic<bool> stop{false};
};

double percentile(std::vector<double>& values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

class LoadClient {
 public:
  LoadClient(int number, int port, std::int64_t items, const std::string& photo, Tally& tally)
      : number_(number),
        items_(items),
        photo_(photo),
        tally_(tally),
        random_(static_cast<unsigned>(number)),
        client_(port) {}

  void run() {
    while (!tally_.stop) {
      const auto dice = random_() % 100;
      if (dice < 50) {
        post("search", "/v1/search", {{"query", id()}, {"top", 10}});
      } else if (dice < 80) {
        post("compare", "/v1/compare", {{"source", id()}, {"target", id()}});
      } else if (dice < 90) {
        post("explain", "/v1/explain", {{"source", id()}, {"target", id()}});
      } else if (dice < 96) {
        timed("photo", 200, [&] { return client_.post("/v1/search", photo_, "image/jpeg"); });
      } else if (dice < 98 || own_.empty()) {
        add();
      } else {
        remove();
      }
    }
  }

 private:
  std::int64_t id() { return static_cast<std::int64_t>(random_() % static_cast<unsigned>(items_)); }

  template <class Call>
  std::string timed(const std::string& kind, int status, Call call) {
    const auto start = Clock::now();
    const HttpResult answer = call();
    const double took = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    const std::lock_guard lock(tally_.mutex);
    tally_.milliseconds[kind].push_back(took);
    if (answer && answer->status == status) return answer->body;
    tally_.errors.push_back(kind + ": " + (answer ? answer->body : "no answer"));
    return "";
  }
  void post(const std::string& kind, const std::string& path, const Json& body) {
    timed(kind, 200, [&] { return client_.post(path, body.dump(), "application/json"); });
  }
  void add() {
    const std::string name =
        "load-" + std::to_string(number_) + "-" + std::to_string(added_++) + ".jpg";
    const std::string answer = timed("add", 201, [&] {
      return client_.post("/v1/items", {{"image", photo_, name, "image/jpeg"}});
    });
    if (answer.empty()) return;
    own_.push_back(Json::parse(answer).at("ids")[0]);
    const std::lock_guard lock(tally_.mutex);
    tally_.mine.insert(own_.back());
  }
  void remove() {
    const std::int64_t gone = own_.back();
    own_.pop_back();
    timed("delete", 200, [&] { return client_.remove("/v1/items/" + std::to_string(gone)); });
    const std::lock_guard lock(tally_.mutex);
    tally_.mine.erase(gone);
  }

  int number_;
  std::int64_t items_;
  const std::string& photo_;
  Tally& tally_;
  std::mt19937 random_;
  HttpClient client_;
  std::vector<std::int64_t> own_;
  int added_ = 0;
};

double megabytes(HttpClient& client) {
  const std::string name = "\nprocess_resident_memory_bytes ";
  const std::string text = client.get("/metrics")->body;
  return std::stod(text.substr(text.find(name) + name.size())) / 1e6;
}

// Items that were added and not deleted exist, deleted ones do not, and no other item is missing.
std::string lost_items(HttpClient& client, std::int64_t before, std::set<std::int64_t> mine) {
  std::int64_t others = 0;
  for (std::size_t offset = 0;; offset += 1000) {
    const std::string path = "/v1/items?limit=1000&offset=" + std::to_string(offset);
    const Json page = Json::parse(client.get(path)->body);
    for (const Json& item : page.at("items")) {
      if (mine.erase(item.at("id")) == 0) ++others;
    }
    if (page.at("items").empty()) break;
  }
  if (!mine.empty()) return std::to_string(mine.size()) + " items were lost";
  if (others != before) return std::to_string(others) + " of " + std::to_string(before) + " items";
  return "";
}

int load(const std::string& program, const std::string& gallery, const std::string& photo,
         double seconds, int clients) {
  ServerProcess server(program, gallery);
  HttpClient client(server.port());
  const std::int64_t items = Json::parse(client.get("/v1/gallery")->body).at("items");
  Tally tally;
  std::vector<std::thread> threads;
  for (int c = 0; c < clients; ++c) {
    threads.emplace_back([&, c] { LoadClient(c, server.port(), items, photo, tally).run(); });
  }
  std::vector<double> memory;
  for (int k = 0; k < 10; ++k) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds / 10));
    memory.push_back(megabytes(client));
  }
  tally.stop = true;
  for (std::thread& thread : threads) thread.join();
  // Lists are updated every half second.
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  const std::string lost = lost_items(client, items, tally.mine);
  const int exit_code = server.stop();

  std::size_t total = 0;
  std::printf("%-8s %9s %9s %9s %9s\n", "", "requests", "p50 ms", "p99 ms", "most ms");
  for (auto& [kind, values] : tally.milliseconds) {
    total += values.size();
    std::printf("%-8s %9zu %9.1f %9.1f %9.1f\n", kind.c_str(), values.size(),
                percentile(values, 0.5), percentile(values, 0.99), percentile(values, 1.0));
  }
  std::printf("%d clients, %.0f s: %zu requests, %.0f a second, %zu errors\nmemory, MB:", clients,
              seconds, total, static_cast<double>(total) / seconds, tally.errors.size());
  for (const double value : memory) std::printf(" %.0f", value);
  std::printf("\n");
  int failed = 0;
  const auto fail = [&](const std::string& why) {
    std::fprintf(stderr, "server_load: %s\n", why.c_str());
    failed = 1;
  };
  if (!tally.errors.empty()) fail(tally.errors.front());
  if (!lost.empty()) fail(lost);
  // The first third is warm-up for threads and buffers.
  if (memory.back() > 1.1 * memory[3] + 16.0) fail("memory grows");
  if (exit_code != 0) fail("the server ended with " + std::to_string(exit_code));
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 4) throw std::runtime_error("server_load PROGRAM GALLERY PHOTO [SECONDS] [CLIENTS]");
    std::ifstream file(argv[3], std::ios::binary);
    const std::string photo{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (photo.empty()) throw std::runtime_error(std::string(argv[3]) + ": cannot be read");
    return load(argv[1], argv[2], photo, argc > 4 ? std::stod(argv[4]) : 60.0,
                argc > 5 ? std::stoi(argv[5]) : 64);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "server_load: %s\n", error.what());
    return 1;
  }
}
