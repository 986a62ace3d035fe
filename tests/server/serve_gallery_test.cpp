// The program serves a gallery that is replaced, damaged or lost with the server.

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <set>
#include <thread>

#include "diml/gallery.h"
#include "server/served_program.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

using ServeGallery = ServedProgram;

TEST_F(ServeGallery, OneThatIsPutInItsPlaceIsServedAndGetsTheChanges) {
  run_well({"index", "backup", "g", "other"});
  run_well({"index", "remove", "other", "--ids", "0,1,2,3"});
  const std::size_t before = open_gallery(at("g"))->snapshot()->size();
  const ProgramResult result = served({}, [&](int port, int) {
    HttpClient client(port);
    EXPECT_EQ(add(client, "first.jpg")->status, 201);
    fs::rename(at("g"), at("away"));
    EXPECT_EQ(add(client, "lost.jpg")->status, 503);
    EXPECT_EQ(search(client)->status, 503);
    EXPECT_EQ(client.get("/readyz")->status, 503);
    EXPECT_EQ(client.get("/healthz")->status, 200);
    fs::rename(at("other"), at("g"));
    const HttpResult told = add(client, "told.jpg");
    EXPECT_EQ(told->status, 503) << told->body;
    EXPECT_NE(told->body.find("has been opened again"), std::string::npos) << told->body;
    EXPECT_EQ(told->body.find(folder_.path()), std::string::npos) << told->body;
    EXPECT_EQ(add(client, "second.jpg")->status, 201);
    EXPECT_EQ(client.get("/readyz")->status, 200);
    EXPECT_EQ(client.get("/v1/items/0")->status, 404);
    EXPECT_EQ(client.post("/v1/search", "{\"query\": 5}", "application/json")->status, 200);
  });
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(open_gallery(at("away"))->snapshot()->size(), before + 1);
  const std::shared_ptr<GridStore> now = open_gallery(at("g"));
  EXPECT_EQ(now->snapshot()->size(), before - 4 + 1);
  EXPECT_TRUE(now->snapshot()->find("second.jpg"));
}

TEST_F(ServeGallery, RestoringAndCompactingItCostARequestAndNoAnswerIsWrong) {
  run_well({"index", "backup", "g", "b"});
  const ProgramResult result = served({}, [&](int port, int) {
    HttpClient client(port);
    EXPECT_EQ(add(client, "first.jpg")->status, 201);
    run_well({"index", "compact", "g"});
    HttpResult second = add(client, "second.jpg");
    EXPECT_EQ(second->status, 503) << second->body;
    EXPECT_EQ(add(client, "second.jpg")->status, 201);
    EXPECT_EQ(add(client, "first.jpg")->status, 409);
    run_well({"index", "restore", "b", "g"});
    EXPECT_EQ(search(client)->status, 503);
    EXPECT_EQ(search(client)->status, 200);
    EXPECT_EQ(add(client, "first.jpg")->status, 201);
  });
  EXPECT_EQ(result.exit_code, 0) << result.err;
  run_well({"index", "verify", "g"});
  run_well({"index", "verify", "g.replaced"});
}

TEST_F(ServeGallery, WhatIsDamagedMeanwhileIsAnErrorUntilABackupIsRestored) {
  run_well({"index", "backup", "g", "b"});
  const ProgramResult result = served({}, [&](int port, int) {
    HttpClient client(port);
    const std::string right = search(client)->body;
    std::string bytes = bytes_of(at("g/data.mdb"));
    std::FILE* file = std::fopen(at("g/data.mdb").c_str(), "r+b");
    for (std::size_t page = 2; page < bytes.size() / 4096; ++page) {
      std::fseek(file, static_cast<long>(page * 4096), SEEK_SET);
      std::fputs("damage", file);
    }
    std::fclose(file);
    for (int k = 0; k < 3; ++k) {
      const HttpResult answer = search(client);
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->status, 500) << answer->body;
      EXPECT_EQ(add(client, "new.jpg")->status, 500);
    }
    EXPECT_EQ(client.get("/healthz")->status, 200);
    run_well({"index", "restore", "b", "g"});
    EXPECT_EQ(search(client)->status, 503);
    const HttpResult again = search(client);
    EXPECT_EQ(again->status, 200);
    EXPECT_EQ(Json::parse(again->body).at("hits"), Json::parse(right).at("hits"));
  });
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("restore a backup, or salvage"), std::string::npos) << result.err;
}

// DIML_FLIPS: a hundredth of it here. A server that starts answers rightly or with an error.
TEST_F(ServeGallery, OfADamagedOneEveryAnswerIsRightOrAnError) {
  const char* wanted = std::getenv("DIML_FLIPS");
  const int flips = wanted != nullptr ? std::max(6, std::atoi(wanted) / 100) : 6;
  std::string right;
  served({}, [&](int port, int) {
    HttpClient client(port);
    right = Json::parse(search(client)->body).at("hits").dump();
  });
  const std::string whole = bytes_of(at("g/data.mdb"));
  std::mt19937 random(8);
  for (int k = 0; k < flips; ++k) {
    std::string bytes = whole;
    const std::size_t place =
        random() % (bytes.size() / 4096) * 4096 + (k % 2 == 0 ? random() % 64 : random() % 4096);
    bytes[place] = static_cast<char>(bytes[place] ^ (1 << random() % 8));
    write_bytes(at("g/data.mdb"), bytes);
    if (run({"search", "g", "--id", "2"}).exit_code == 1) {
      const ProgramResult refused = run({"index", "info", "g"});
      if (refused.exit_code == 1) {  // it cannot be opened: so it is not served
        EXPECT_EQ(run({"serve", "g", "--port", "0"}).exit_code, 1);
        continue;
      }
    }
    const ProgramResult result = served({}, [&](int port, int) {
      HttpClient client(port);
      const auto answered = [&](const HttpResult& answer, int well) {
        ASSERT_TRUE(answer) << "byte " << place;
        EXPECT_TRUE(answer->status == well || answer->status == 500)
            << "byte " << place << ": " << answer->body;
      };
      for (int request = 0; request < 3; ++request) {
        const HttpResult answer = search(client);
        answered(answer, 200);
        EXPECT_TRUE(!answer || answer->status != 200 ||
                    Json::parse(answer->body).at("hits").dump() == right)
            << "byte " << place;
      }
      for (int request = 0; request < 3; ++request) {
        answered(client.remove("/v1/items/" + std::to_string(10 + request)), 200);
        answered(add(client, "new" + std::to_string(request) + ".jpg"), 201);
        answered(search(client), 200);
      }
    });
    EXPECT_EQ(result.exit_code, 0) << "byte " << place << ": " << result.err;
  }
}

// DIML_KILLS: how often; a few times in everyday tests.
TEST_F(ServeGallery, WhatWasAcknowledgedBeforeAKillIsThere) {
  const char* wanted = std::getenv("DIML_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 4;
  std::mt19937 random(2);
  std::set<std::string> acknowledged;
  std::mutex mutex;
  std::size_t asked = 0;
  for (int k = 0; k < kills; ++k) {
    served(
        {},
        [&](int port, int process) {
          std::vector<std::thread> clients;
          for (int t = 0; t < 3; ++t) {
            clients.emplace_back([&, t] {
              HttpClient client(port);
              for (int n = 0;; ++n) {
                const std::string name =
                    std::to_string(k) + "-" + std::to_string(t) + "-" + std::to_string(n) + ".jpg";
                const HttpResult answer = add(client, name);
                const std::lock_guard lock(mutex);
                ++asked;
                if (!answer) return;
                if (answer->status == 201) acknowledged.insert(name);
              }
            });
          }
          std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 200));
          ::kill(process, SIGKILL);
          for (std::thread& client : clients) client.join();
        },
        {}, SIGKILL);
    const std::shared_ptr<GridStore> gallery = open_gallery(at("g"), StoreAccess::write);
    std::vector<std::int64_t> made;
    {
      const std::unique_ptr<GridSnapshot> snapshot = gallery->snapshot();
      const StoreFaults found = snapshot->verify();
      ASSERT_TRUE(found.faults.empty()) << found.faults[0];
      for (const std::string& name : acknowledged) {
        const auto id = snapshot->find(name);
        ASSERT_TRUE(id) << name << " was acknowledged and is not there";
        made.push_back(*id);
      }
    }
    if (made.size() > 2000) {  // a small gallery again
      gallery->remove(made);
      acknowledged.clear();
    }
  }
  EXPECT_GT(asked, static_cast<std::size_t>(kills));
  if (wanted != nullptr) std::printf("%d kills, %zu adds\n", kills, asked);
}

}  // namespace
}  // namespace diml::test
