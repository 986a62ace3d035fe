// Servers of one gallery whose database goes away: killed backends, a killed primary. The servers
// are programs, and so are the databases.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <nlohmann/json.hpp>

#include "../../benchmarks/server_process.h"
#include "diml/gallery.h"
#include "diml/generated.h"
#include "gallery/postgres/connection.h"
#include "postgres/killable_server.h"
#include "server/http_client.h"

namespace diml::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

constexpr std::size_t kImages = 200;
constexpr double kBackWithin = 5.0;  // seconds

// A test may kill more where it is asked to: DIML_KILLS.
int kills(int otherwise) {
  const char* given = std::getenv("DIML_KILLS");
  return given == nullptr ? otherwise : std::atoi(given);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

HttpResult searched(HttpClient& client, std::size_t query) {
  const Json body = {{"query", {{"id", query}}}, {"top", 10}};
  return client.post("/v1/search", body.dump(), "application/json");
}

// What no change of labels changes.
std::string ranking_in(const std::string& body) {
  Json ranking = Json::array();
  const Json answer = Json::parse(body);
  for (const Json& hit : answer.at("hits")) ranking.push_back({hit.at("id"), hit.at("total")});
  return ranking.dump();
}

// How long it takes until every server answers a search and makes a change again.
double seconds_until_back(const std::vector<int>& ports, std::size_t item) {
  const auto start = Clock::now();
  for (const int port : ports) {
    const auto works = [&] {
      HttpClient client(port);
      const HttpResult answer = searched(client, item);
      if (!answer || answer->status != 200) return false;
      const HttpResult change =
          client.send("PATCH", "/v1/items/" + std::to_string(item),
                      {{"Content-Type", "application/json"}}, R"({"metadata": {"seen": true}})");
      return change && change->status == 200;
    };
    while (!works() && seconds_since(start) < 60.0) std::this_thread::sleep_for(10ms);
  }
  return seconds_since(start);
}

// A client that changes the label of one item again and again, and one that searches.
class Clients {
 public:
  struct Words {
    int acknowledged = 0;  // the last label whose change was
    int tried = 0;
  };

  explicit Clients(std::vector<std::string> wanted) : wanted_(std::move(wanted)) {}
  ~Clients() { stop(); }

  void change_item(int port, std::size_t item) {
    words_.resize(std::max(words_.size(), item + 1));
    threads_.emplace_back([this, port, item] {
      HttpClient client(port);
      Words words;
      while (!stop_) {
        const Json body = {{"label", std::to_string(++words.tried)}};
        const HttpResult answer = client.send("PATCH", "/v1/items/" + std::to_string(item),
                                              {{"Content-Type", "application/json"}}, body.dump());
        if (note(answer)) words.acknowledged = words.tried;
      }
      const std::lock_guard lock(mutex_);
      words_[item] = words;
    });
  }
  void search(int port, unsigned seed) {
    threads_.emplace_back([this, port, seed] {
      HttpClient client(port);
      for (std::mt19937 random(seed); !stop_;) {
        const std::size_t query = random() % wanted_.size();
        const HttpResult answer = searched(client, query);
        if (!note(answer)) continue;
        EXPECT_EQ(ranking_in(answer->body), wanted_[query]);
      }
    });
  }
  void stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  std::size_t answered() const { return answered_; }
  std::size_t told_to_wait() const { return told_to_wait_; }

  void expect_nothing_lost(const GridSnapshot& snapshot) const {
    std::size_t changes = 0;
    for (std::size_t item = 0; item < words_.size(); ++item) {
      if (words_[item].tried == 0) continue;
      const std::string label = snapshot.item(static_cast<std::int64_t>(item)).label;
      const int now = label.empty() ? 0 : std::stoi(label);
      EXPECT_GE(now, words_[item].acknowledged) << "item " << item;
      EXPECT_LE(now, words_[item].tried) << "item " << item;
      changes += static_cast<std::size_t>(words_[item].acknowledged);
    }
    EXPECT_GT(changes, 0U);
  }

 private:
  // Whether it is 200; otherwise it must be 503 with the time to wait.
  bool note(const HttpResult& answer) {
    if (answer && answer->status == 200) {
      ++answered_;
      return true;
    }
    ++told_to_wait_;
    if (!answer) {
      ADD_FAILURE() << "no answer";
    } else {
      EXPECT_EQ(answer->status, 503) << answer->body;
      EXPECT_EQ(answer->header("Retry-After"), "1");
      EXPECT_EQ(answer->body.find("/tmp"), std::string::npos) << answer->body;
    }
    std::this_thread::sleep_for(50ms);
    return false;
  }

  std::vector<std::string> wanted_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::vector<Words> words_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::size_t> answered_ = 0;
  std::atomic<std::size_t> told_to_wait_ = 0;
};

class LostDatabase : public testing::Test {
 protected:
  void SetUp() override {
    if (!KillableServer::is_possible())
      GTEST_SKIP() << "there is no PostgreSQL server (package postgresql)";
    database_.emplace();
    address_ = database_->address("g");
    const std::shared_ptr<GridStore> store =
        create_gallery(address_, {.cells_per_grid = 9,
                                  .dim = generated_.grids.dim(),
                                  .type = CellType::float16,
                                  .embedding = {{"sha256", "0123456789abcdef"}},
                                  .model = "none.safetensors"});
    add(*store, 0, kImages);
  }

  std::vector<std::int64_t> add(GridStore& store, std::size_t first, std::size_t count) const {
    std::vector<NewItem> items;
    std::vector<GridView> grids;
    for (std::size_t i = first; i < first + count; ++i) {
      items.push_back({.path = std::to_string(i)});
      grids.push_back(generated_.grids[i % kImages]);
    }
    return store.add(items, set_of(grids));
  }
  void serve(std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
      servers_.push_back(std::make_unique<ServerProcess>(
          DIML_PROGRAM, address_, 0, std::vector<std::string>{"--threads", "1", "--quiet"}));
      ports_.push_back(servers_.back()->port());
    }
  }
  std::vector<std::string> rankings() const {
    std::vector<std::string> all;
    HttpClient client(ports_[0]);
    for (std::size_t query = 0; query < 20; ++query) {
      all.push_back(ranking_in(searched(client, query)->body));
    }
    return all;
  }

  GeneratedGrids generated_ = generate_grids(
      {.size = kImages, .classes = 20, .grid = 3, .dim = 24, .seed = 5, .type = CellType::float16});
  std::optional<KillableServer> database_;
  std::string address_;
  std::vector<std::unique_ptr<ServerProcess>> servers_;
  std::vector<int> ports_;
};

TEST_F(LostDatabase, IsToldWith503AndServersComeBackByThemselves) {
  serve(1);
  HttpClient client(ports_[0]);
  const std::vector<std::string> before = rankings();
  database_->kill();
  for (int k = 0; k < 20; ++k) {
    const HttpResult search = searched(client, 3);
    ASSERT_TRUE(search);
    EXPECT_EQ(search->status, 503);
    EXPECT_EQ(search->header("Retry-After"), "1");
    EXPECT_NE(search->body.find("database cannot be reached"), std::string::npos) << search->body;
    EXPECT_EQ(search->body.find(database_->host()), std::string::npos) << search->body;
  }
  EXPECT_EQ(client.get("/healthz")->status, 200);
  EXPECT_EQ(client.get("/readyz")->status, 503);
  const HttpResult metrics = client.get("/metrics");
  EXPECT_EQ(metrics->status, 200);
  EXPECT_NE(metrics->body.find("\ndiml_gallery_readable 0\n"), std::string::npos) << metrics->body;
  EXPECT_EQ(client.remove("/v1/items/1")->status, 503);

  database_->start_again();
  EXPECT_LT(seconds_until_back(ports_, 0), kBackWithin);
  EXPECT_EQ(client.get("/readyz")->status, 200);
  EXPECT_NE(client.get("/metrics")->body.find("\ndiml_gallery_readable 1\n"), std::string::npos);
  EXPECT_EQ(rankings(), before);
}

// One that tries for all: while the server is away, calls fail at once.
TEST_F(LostDatabase, AServerThatIsAwayIsAskedOncePerPause) {
  const std::shared_ptr<GridStore> store = open_gallery(address_, StoreAccess::write);
  database_->kill();
  EXPECT_THROW(store->snapshot(), Error);
  const auto start = Clock::now();
  for (int k = 0; k < 10'000; ++k) EXPECT_THROW(store->snapshot(), Error);
  EXPECT_LT(seconds_since(start), 2.0);
  database_->start_again();
  while (seconds_since(start) < 60.0) {
    try {
      EXPECT_EQ(store->snapshot()->size(), kImages);
      break;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::out_of_resources);
      std::this_thread::sleep_for(10ms);
    }
  }
  EXPECT_EQ(store->snapshot()->size(), kImages);
}

// The processes that answer clients of a database.
std::vector<pid_t> backends_of(const KillableServer& database) {
  std::ifstream file(database.host() + "/data/postmaster.pid");
  pid_t main = 0;
  file >> main;
  std::vector<pid_t> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream words(entry.path() / "cmdline");
    std::string line;
    std::getline(words, line, '\0');
    if (line.find("postgres: diml tests") == std::string::npos) continue;
    std::ifstream stat(entry.path() / "stat");
    std::getline(stat, line);
    const std::size_t end = line.rfind(") ");
    if (end != std::string::npos && std::stoi(line.substr(end + 4)) == main) {
      all.push_back(std::stoi(name));
    }
  }
  return all;
}

TEST_F(LostDatabase, NothingAcknowledgedIsLostWhenBackendsAreKilled) {
  serve(2);
  Clients clients(rankings());
  for (std::size_t item = 0; item < 8; ++item) clients.change_item(ports_[item % 2], item);
  for (unsigned k = 0; k < 4; ++k) clients.search(ports_[k % 2], k);
  std::mt19937 random(7);
  double longest = 0.0;
  int killed = 0;
  for (const int wanted = kills(4); killed < wanted;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100 + random() % 400));
    const std::vector<pid_t> backends = backends_of(*database_);
    if (backends.empty()) continue;
    // PostgreSQL ends all other connections too, and recovers.
    if (::kill(backends[random() % backends.size()], SIGKILL) != 0) continue;
    ++killed;
    longest = std::max(longest, seconds_until_back(ports_, 100));
  }
  clients.stop();
  EXPECT_LT(longest, kBackWithin);
  const auto snapshot = open_gallery(address_)->snapshot();
  clients.expect_nothing_lost(*snapshot);
  EXPECT_TRUE(snapshot->verify({}).faults.empty());
  std::printf("%d backends killed: %zu answers, %zu times 503, back within %.2f s\n", killed,
              clients.answered(), clients.told_to_wait(), longest);
}

// A program that adds by the library, through the failover.
struct Adder {
  std::vector<std::pair<std::size_t, std::vector<std::int64_t>>> acknowledged;  // by first path
  std::thread thread;
};

TEST_F(LostDatabase, NothingAcknowledgedIsLostWhenThePrimaryIsKilledAndItsStandbyPromoted) {
  constexpr std::size_t kClients = 32;
  constexpr std::size_t kAtOnce = 5;
  const KillableServer standby(*database_);
  {
    postgres::Connection administrator(postgres::address_from(address_));
    administrator.ask("ALTER SYSTEM SET synchronous_standby_names = '*'");
    administrator.ask("SELECT pg_reload_conf()");
    const auto is_synchronous = [&] {
      return administrator.ask("SELECT FROM pg_stat_replication WHERE sync_state = 'sync'").rows() >
             0;
    };
    for (int wait = 0; wait < 1000 && !is_synchronous(); ++wait) std::this_thread::sleep_for(10ms);
    ASSERT_TRUE(is_synchronous());
  }
  address_ = database_->address("g", "," + standby.host() + "&target_session_attrs=read-write");
  serve(2);
  Clients clients(rankings());
  for (std::size_t item = 0; item < kClients; ++item) clients.change_item(ports_[item % 2], item);
  std::atomic<bool> stop = false;
  Adder adder;
  adder.thread = std::thread([&] {
    const std::shared_ptr<GridStore> store = open_gallery(address_, StoreAccess::write);
    for (std::size_t first = 10'000; !stop; first += kAtOnce) {
      try {
        adder.acknowledged.emplace_back(first, add(*store, first, kAtOnce));
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::out_of_resources) << error.what();
        std::this_thread::sleep_for(50ms);
      }
    }
  });
  std::this_thread::sleep_for(2s);
  const std::size_t answered_before = clients.answered();
  database_->kill();
  std::this_thread::sleep_for(500ms);  // an administrator, or a program like Patroni, decides
  standby.promote();
  const double seconds = seconds_until_back(ports_, 100);
  EXPECT_LT(seconds, kBackWithin);
  std::this_thread::sleep_for(1s);
  stop = true;
  clients.stop();
  adder.thread.join();
  const auto snapshot = open_gallery(address_)->snapshot();
  clients.expect_nothing_lost(*snapshot);
  for (const auto& [first, ids] : adder.acknowledged) {
    for (std::size_t k = 0; k < ids.size(); ++k) {
      EXPECT_EQ(snapshot->find(std::to_string(first + k)), ids[k]);
    }
  }
  EXPECT_TRUE(snapshot->verify({}).faults.empty());
  EXPECT_GT(answered_before, kClients);
  EXPECT_GT(clients.answered(), answered_before + kClients);
  std::printf(
      "%zu clients: %zu changes before the primary was killed, %zu after, %zu times 503; %zu "
      "additions; back %.2f s after the promotion\n",
      kClients, answered_before, clients.answered() - answered_before, clients.told_to_wait(),
      adder.acknowledged.size(), seconds);
}

}  // namespace
}  // namespace diml::test
