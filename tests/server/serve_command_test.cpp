// The program: start, stop while clients wait, wrong arguments.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/photo_folder.h"
#include "diml/error.h"
#include "diml/searcher.h"
#include "gallery/environment.h"
#include "server/http_client.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;

const std::string kHere = "http://127.0.0.1:";

class ServeCommand : public PhotoFolder {
 protected:
  ServeCommand() {
    run_well({"index", "build", "g", "--model", "small.safetensors", "--dataset", "critters",
              "--root", "critters"});
  }
  ProgramResult served(const Arguments& more, const std::function<void(int)>& call,
                       unsigned user = 0, const std::string& address = kHere);
  // The port that the program prints, from its output in a file.
  int port_in(const std::string& name, const std::string& address = kHere) const {
    for (int wait = 0; wait < 2400; ++wait) {
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
      const std::string text = bytes_of(at(name));
      const std::size_t begin = text.find(address);
      if (begin != std::string::npos && text.find("Ctrl-C") != std::string::npos) {
        return std::stoi(text.substr(begin + address.size()));
      }
    }
    throw Error("diml serve says no port");
  }
};

TEST_F(ServeCommand, EndsWellWhenAskedAndAnswersWhatIsUnderWay) {
  for (const int signal : {SIGTERM, SIGINT}) {
    put_text("out.txt", "");
    std::atomic<int> answered = 0;
    std::atomic<int> lost = 0;
    ProgramSettings settings;
    settings.standard_output = at("out.txt");
    settings.meanwhile = [&](int process) {
      const int port = port_in("out.txt");
      const std::string photo = bytes_of(at(photos()[0]));
      std::atomic<bool> asked = false;
      std::vector<std::thread> clients;
      for (int t = 0; t < 4; ++t) {
        clients.emplace_back([&] {
          HttpClient client(port);
          while (true) {
            const bool before = !asked;
            const HttpResult answer = client.post("/v1/search", photo, "image/jpeg");
            if (answer && answer->status == 200) {
              ++answered;
            } else {
              // Only connections after the signal may be refused.
              if (before && !asked) ++lost;
              return;
            }
          }
        });
      }
      while (answered < 20) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      asked = true;
      ::kill(process, signal);
      for (std::thread& thread : clients) thread.join();
    };
    const auto start = std::chrono::steady_clock::now();
    const ProgramResult result = run({"serve", "g", "--port", "0"}, settings);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_GE(answered, 20);
    EXPECT_EQ(lost, 0);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  }
}

TEST_F(ServeCommand, IdleClientsDoNotKeepItFromEnding) {
  put_text("out.txt", "");
  ProgramSettings settings;
  settings.standard_output = at("out.txt");
  std::chrono::steady_clock::time_point asked;
  settings.meanwhile = [&](int process) {
    HttpClient client(port_in("out.txt"));
    EXPECT_EQ(client.get("/healthz")->status, 200);
    asked = std::chrono::steady_clock::now();
    ::kill(process, SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  };
  EXPECT_EQ(run({"serve", "g", "--port", "0"}, settings).exit_code, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(5));
}

TEST_F(ServeCommand, AChangeThatWaitsForAnotherProcessDoesNotKeepItFromEnding) {
  put_text("out.txt", "");
  ProgramSettings settings;
  settings.standard_output = at("out.txt");
  std::chrono::steady_clock::time_point asked;
  std::thread client;
  std::atomic<int> status = 0;
  std::unique_ptr<diml::gallery::Transaction> foreign;
  settings.meanwhile = [&](int process) {
    const int port = port_in("out.txt");
    // This process has LMDB's lock.
    foreign = std::make_unique<diml::gallery::Transaction>(
        diml::gallery::Environment::open(at("g"), StoreAccess::write,
                                         diml::gallery::Environment::Wanted::existing),
        StoreAccess::write);
    client = std::thread([&, port] {
      const HttpResult answer = HttpClient(port).remove("/v1/items/1");
      status = answer ? answer->status : -1;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    asked = std::chrono::steady_clock::now();
    ::kill(process, SIGTERM);
  };
  const ProgramResult result =
      run({"serve", "g", "--port", "0", "--grace", "0.5", "--write-seconds", "60"}, settings);
  const std::chrono::duration<double> lasted = std::chrono::steady_clock::now() - asked;
  client.join();
  foreign.reset();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_LT(lasted.count(), 2.5);
  EXPECT_TRUE(status == 503 || status == -1) << status;
}

// Runs the server and calls it; returns what the program wrote.
ProgramResult ServeCommand::served(const Arguments& more, const std::function<void(int)>& call,
                                   unsigned user, const std::string& address) {
  put_text("out.txt", "");
  fs::permissions(at("out.txt"), fs::perms::all);
  ProgramSettings settings;
  settings.standard_output = at("out.txt");
  settings.user = user;
  settings.meanwhile = [&](int process) {
    try {
      call(port_in("out.txt", address));
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
    ::kill(process, SIGTERM);
  };
  Arguments arguments = {"serve", "g", "--port", "0"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments, settings);
}

TEST_F(ServeCommand, WritesALineForEachRequest) {
  const auto call = [](int port) {
    HttpClient client(port);
    EXPECT_EQ(client.get("/healthz?a=\"b")->status, 400);  // no such parameter
    EXPECT_EQ(client.get("/none")->status, 404);
  };
  const std::string common = served({"--access-log", "common"}, call).err;
  EXPECT_EQ(common.find("127.0.0.1 - - ["), 0u) << common;
  EXPECT_NE(common.find(" +0000] \"GET /healthz?a=\\\"b HTTP/1.1\" 400 "), std::string::npos)
      << common;
  EXPECT_NE(common.find("\"GET /none HTTP/1.1\" 404 "), std::string::npos) << common;
  EXPECT_EQ(served({"--access-log", "json", "--access-log-file", "log.txt"}, call).err, "");
  const std::vector<std::string> lines = lines_in("log.txt");
  ASSERT_EQ(lines.size(), 2u);
  const auto first = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(first.at("client"), "127.0.0.1");
  EXPECT_EQ(first.at("target"), "/healthz?a=\"b");
  EXPECT_EQ(first.at("status"), 400);
  EXPECT_GT(first.at("bytes"), 0);
  EXPECT_GT(first.at("seconds"), 0.0);
  EXPECT_EQ(first.at("time").get<std::string>().back(), 'Z');
  // A file is appended to.
  EXPECT_EQ(served({"--access-log-file", "log.txt"}, call).exit_code, 0);
  EXPECT_EQ(lines_in("log.txt").size(), 4u);
  EXPECT_EQ(served({}, call).err, "");
  expect_refused({"serve", "g", "--port", "0", "--access-log-file", "none/log.txt"},
                 {"none/log.txt: cannot be written"});
  expect_refused({"serve", "g", "--access-log", "xml"}, {"xml", "common"});
}

TEST_F(ServeCommand, AFullDiskCostsLinesOfTheLogAndNoAnswers) {
  const ProgramResult result = served({"--access-log-file", "/dev/full"}, [](int port) {
    HttpClient client(port);
    for (int k = 0; k < 20; ++k) EXPECT_EQ(client.get("/healthz")->status, 200);
    EXPECT_EQ(client.connections(), 1);
  });
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err.find("diml serve: the access log cannot be written (No space left"), 0u)
      << result.err;
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << "said more than once";
}

TEST_F(ServeCommand, ALogThatWasMovedAwayIsMadeAnew) {
  served({"--access-log-file", "log.txt"}, [this](int port) {
    HttpClient client(port);
    EXPECT_EQ(client.get("/healthz")->status, 200);
    while (lines_in("log.txt").empty()) std::this_thread::yield();
    fs::rename(at("log.txt"), at("old.txt"));
    for (int wait = 0; wait < 200 && !fs::exists(at("log.txt")); ++wait) {
      EXPECT_EQ(client.get("/readyz")->status, 200);
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    EXPECT_TRUE(fs::exists(at("log.txt")));
  });
  EXPECT_NE(bytes_of(at("old.txt")).find("/healthz"), std::string::npos);
}

TEST_F(ServeCommand, TakesAsManyPhotosAtOnceAsTold) {
  for (const char* batch : {"1", "3"}) {
    const std::string told =
        served({"--batch", batch, "--verbose"}, [&](int port) {
          const std::string photo = bytes_of(at(photos()[0]));
          std::vector<FormItem> form;
          for (int k = 0; k < 6; ++k) {
            const std::string name = std::string(batch) + "_" + std::to_string(k) + ".jpg";
            form.push_back({"image", photo, name, "image/jpeg"});
          }
          HttpClient client(port);
          EXPECT_EQ(client.post("/v1/items", form)->status, 201);
          const std::string metrics = client.get("/metrics")->body;
          const std::string passes = batch == std::string("1") ? "6" : "2";
          EXPECT_NE(metrics.find("diml_embed_batches_total " + passes + "\n"), std::string::npos)
              << metrics;
        }).err;
    EXPECT_NE(told.find(std::string(batch) + " at once"), std::string::npos) << told;
  }
}

TEST_F(ServeCommand, GivesTheSameHitsByEveryFirstStage) {
  const std::vector<std::string> sources = candidate_sources();
  if (std::count(sources.begin(), sources.end(), "index") > 0) run_well({"index", "cache", "g"});
  std::set<std::string> hits;
  for (const std::string& source : sources) {
    if (source == "pgvector") continue;  // of galleries in PostgreSQL
    served({"--first-stage", source}, [&](int port) {
      const HttpResult answer =
          HttpClient(port).post("/v1/search", R"({"query": 1, "top": 3})", "application/json");
      hits.insert(nlohmann::json::parse(answer->body).at("hits").dump());
    });
  }
  EXPECT_EQ(hits.size(), 1u);
}

TEST_F(ServeCommand, AllowsTheOriginsThatAreNamed) {
  const Arguments sites = {"--allow-origin", "https://a.example", "--allow-origin",
                           "https://b.example"};
  served(sites, [](int port) {
    for (const char* site : {"https://a.example", "https://b.example"}) {
      const HttpResult answer = HttpClient(port).get("/v1/gallery", {{"Origin", site}});
      EXPECT_EQ(answer->header("Access-Control-Allow-Origin"), site);
    }
    EXPECT_EQ(HttpClient(port).get("/v1/gallery", {{"Origin", "https://c.example"}})->status, 403);
  });
  expect_refused({"serve", "g", "--port", "0", "--allow-origin", "*"},
                 {"'*' is not an origin", "--allow-origin"});
}

// Root may read and write everything, so it becomes another user; others take their own permission
// to write away.
const unsigned kOther = ::geteuid() == 0 ? 65534 : 0;

TEST_F(ServeCommand, ServesAGalleryOfAnotherUser) {
  fs::permissions(folder_.path(), fs::perms(0755));
  const auto hits = [&](const ProgramSettings& settings) {
    auto json =
        nlohmann::json::parse(run_well({"search", "g", photos()[0], "--json", "-"}, settings));
    json.erase("seconds");
    return json;
  };
  const ProgramSettings nobody{.user = kOther};
  const auto set_rights = [this](unsigned of_folder, unsigned of_files) {
    if (kOther != 0) return;
    for (const char* file : {"g/data.mdb", "g/lock.mdb"}) {
      fs::permissions(at(file), fs::perms(of_files));
    }
    fs::permissions(at("g"), fs::perms(of_folder));
  };
  const auto expected = hits({});
  set_rights(0555, 0444);
  EXPECT_EQ(hits(nobody), expected);
  run_well({"index", "info", "g"}, nobody);
  run_well({"index", "verify", "g"}, nobody);
  expect_refused({"serve", "g", "--port", "0"}, {"g: cannot be written", "--read-only serves it"},
                 nobody);
  const ProgramResult result = served(
      {"--read-only"},
      [this, &set_rights](int port) {
        HttpClient client(port);
        const HttpResult before = client.get("/v1/gallery");
        EXPECT_EQ(before->status, 200);
        const std::string photo = bytes_of(at(photos()[0]));
        EXPECT_EQ(client.post("/v1/search", photo, "image/jpeg")->status, 200);
        // The owner changes it meanwhile: the next calls see that.
        set_rights(0755, 0644);
        run_well({"index", "remove", "g", "--ids", "0"});
        set_rights(0555, 0444);
        const HttpResult after = client.get("/v1/gallery");
        EXPECT_EQ(nlohmann::json::parse(after->body).at("items").get<int>(),
                  nlohmann::json::parse(before->body).at("items").get<int>() - 1);
        EXPECT_EQ(client.post("/v1/search", photo, "image/jpeg")->status, 200);
      },
      kOther);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.err.find("read without a lock"), std::string::npos) << result.err;
  // With a lock that can be written there is nothing to say.
  set_rights(0755, 0644);
  fs::permissions(at("g/lock.mdb"), fs::perms(0666));
  EXPECT_EQ(served(
                {"--read-only"}, [](int) {}, kOther)
                .err,
            "");
}

TEST_F(ServeCommand, TokensAreReadAgainOnSighupAndKeptWhenTheFileIsWrong) {
  put_text("tokens.txt", "read shop first\nwrite boss second\n");
  put_text("out.txt", "");
  ProgramSettings settings;
  settings.standard_output = at("out.txt");
  settings.meanwhile = [&](int process) {
    HttpClient client(port_in("out.txt"));
    const auto status = [&](const std::string& token, const std::string& method) {
      return client.send(method, "/v1/items/0", {{"Authorization", "Bearer " + token}})->status;
    };
    const auto await = [&](const std::string& token, int wanted) {
      for (int wait = 0; wait < 200 && status(token, "GET") != wanted; ++wait) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      EXPECT_EQ(status(token, "GET"), wanted) << token;
    };
    EXPECT_EQ(status("first", "GET"), 200);
    EXPECT_EQ(status("first", "DELETE"), 403);
    EXPECT_EQ(status("second", "GET"), 200);
    put_text("tokens.txt", "read shop third\n");
    ::kill(process, SIGHUP);
    await("third", 200);
    EXPECT_EQ(status("second", "GET"), 401);
    put_text("tokens.txt", "read shop\n");
    ::kill(process, SIGHUP);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_EQ(status("third", "GET"), 200);
    ::kill(process, SIGTERM);
  };
  const ProgramResult result =
      run({"serve", "g", "--port", "0", "--token-file", "tokens.txt"}, settings);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("the tokens stay as they are: tokens.txt, line 1: a line is"),
            std::string::npos)
      << result.err;
}

TEST_F(ServeCommand, SaysWhichNamesItAnswersToWhereItIsOpen) {
  const ProgramResult open = served(
      {"--host", "0.0.0.0"}, [](int) {}, 0, "http://0.0.0.0:");
  EXPECT_NE(open.err.find("can search and change the gallery"), std::string::npos) << open.err;
  EXPECT_NE(open.err.find("--allow-host"), std::string::npos) << open.err;
  served({"--host", "127.0.0.1", "--allow-host", "photos.example"}, [](int port) {
    HttpClient client(port);
    EXPECT_EQ(client.get("/healthz", {{"Host", "photos.example"}})->status, 200);
    EXPECT_EQ(client.get("/healthz", {{"Host", "evil.example"}})->status, 421);
  });
}

// This process is the other writer: it holds LMDB's lock while the server wants to write.
TEST_F(ServeCommand, AWriterOfAnotherProcessDelaysNoSearchAndNothingIsChangedLater) {
  const Arguments few = {"--workers", "1", "--write-seconds", "0.5"};
  const ProgramResult result = served(few, [this](int port) {
    HttpClient client(port);
    const auto change = [&](const std::string& label) {
      const std::string body = "{\"label\": \"" + label + "\"}";
      return client.send("PATCH", "/v1/items/0", {{"Content-Type", "application/json"}}, body);
    };
    {
      const auto environment = gallery::Environment::open(at("g"), StoreAccess::write,
                                                          gallery::Environment::Wanted::existing);
      const gallery::Transaction held(environment, StoreAccess::write);
      std::thread writer([&] {
        HttpClient other(port);
        const HttpResult late = other.remove("/v1/items/1");
        EXPECT_EQ(late->status, 503) << late->body;
        EXPECT_NE(late->body.find("nothing was changed"), std::string::npos) << late->body;
      });
      const HttpResult late = change("late");
      EXPECT_EQ(late->status, 503) << late->body;
      EXPECT_EQ(late->body.find(folder_.path()), std::string::npos) << late->body;
      for (int k = 0; k < 5; ++k) {
        EXPECT_EQ(client.post("/v1/search", "{\"query\": 2}", "application/json")->status, 200);
      }
      EXPECT_NE(client.get("/readyz")->body.find("another process is writing"), std::string::npos);
      writer.join();
    }
    HttpResult again = change("again");
    for (int wait = 0; wait < 100 && again->status != 200; ++wait) again = change("again");
    EXPECT_EQ(again->status, 200) << again->body;
    EXPECT_NE(client.get("/readyz")->body.find("works"), std::string::npos);
    EXPECT_EQ(client.get("/v1/items/1")->status, 200);
  });
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.err.find("PATCH /v1/items/0 503 ["), std::string::npos) << result.err;
}

TEST_F(ServeCommand, RefusesWrongCallsInOneLine) {
  expect_refused({"serve", "nothing"}, {"nothing: there is no gallery"});
  expect_refused({"serve", "g", "--port", "0", "--token-file", "none.txt"}, {"none.txt"});
  put_text("token.txt", "two words\n");
  expect_refused({"serve", "g", "--port", "0", "--token-file", "token.txt"},
                 {"token.txt, line 1: a line is: read NAME TOKEN"});
  expect_refused({"serve", "g", "--port", "0", "--model", "none.safetensors"},
                 {"none.safetensors"});
  expect_refused({"serve", "g", "--port", "0", "--host", "256.0.0.1"},
                 {"256.0.0.1:0 cannot be served", "--host"});
}

TEST_F(ServeCommand, APortThatIsTakenIsRefused) {
  const int other = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(other, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(other, 1), 0);
  ASSERT_EQ(::getsockname(other, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const int port = ntohs(address.sin_port);
  expect_refused({"serve", "g", "--port", std::to_string(port)},
                 {std::to_string(port) + " cannot be served", "choose another port", "--port"});
  ::close(other);
}

}  // namespace
}  // namespace diml::test
