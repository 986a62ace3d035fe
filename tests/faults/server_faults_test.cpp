// The n-th allocation, write or sync of a server fails while it answers, alone or with all that
// follow: each client gets the right answer, one that says why there is none, or its connection
// is closed. The server goes on, and the gallery stays whole.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>

#include <unistd.h>

#include "diml/error.h"
#include "faults/failing_calls.h"
#include "gallery/reopening_store.h"
#include "server/served_gallery.h"

namespace diml::test {
namespace {

// What was tried when the process ended.
char tried[200];
[[noreturn]] void tell_what_was_tried(int signal) {
  (void)!::write(STDERR_FILENO, tried, sizeof(tried));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  ::_exit(1);
}

struct Question {
  const char* name;
  std::function<HttpResult(HttpClient&)> ask;
  std::function<std::string(const HttpAnswer&)> essence;  // without what differs each time
  std::function<void()> prepare = [] {};
  std::function<void(const HttpResult&)> settle = [](const HttpResult&) {};  // when all is well
};

std::string hits_of(const HttpAnswer& answer) { return Json::parse(answer.body).at("hits").dump(); }
std::string whole_body(const HttpAnswer& answer) { return answer.body; }

class ServerFaults : public ServedGallery {
 protected:
  ServerFaults() {
    spare_this_thread();
    for (const int signal : {SIGABRT, SIGSEGV}) std::signal(signal, tell_what_was_tried);
    // As the program serves it.
    server_.reset();
    gallery_.reset();
    const auto open = [path = folder_ / "g"] { return open_gallery(path, StoreAccess::write); };
    gallery_ = std::make_shared<gallery::ReopeningStore>(open(), open);
    ServerParams params;
    params.limits.workers = 2;
    params.threads = 2;
    serve(params);
  }

  // Returns whether a call failed.
  bool ask_with(const Question& question, Call call, long before, long count,
                const std::string& right) {
    std::snprintf(tried, sizeof(tried), "\n%s, call %d, after %ld, %s\n", question.name,
                  static_cast<int>(call), before, count == 1 ? "once" : "and all that follow");
    SCOPED_TRACE(tried);
    question.prepare();
    Fault fault(call, before, count);
    HttpClient asking = client();
    const auto start = std::chrono::steady_clock::now();
    const HttpResult answer = question.ask(asking);
    fault.end();
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(4))
        << "nobody answers, and nobody closes the connection";
    if (answer && answer->status / 100 == 2) {
      EXPECT_EQ(question.essence(*answer), right);
    } else if (answer) {
      EXPECT_TRUE(answer->status == 503 || answer->status == 507) << answer->body;
      EXPECT_TRUE(Json::accept(answer->body)) << answer->body;
    }
    question.settle(answer);
    return fault.failed() > 0;
  }

  // DIML_FAULTS=all: each n; else fewer and fewer.
  void sweep(const Question& question, std::initializer_list<Call> calls) {
    const bool all = std::getenv("DIML_FAULTS") != nullptr;
    HttpClient healthy = client();
    question.prepare();
    const HttpResult first = question.ask(healthy);
    question.settle(first);
    ASSERT_TRUE(first && first->status / 100 == 2) << question.name << (first ? first->body : "");
    const std::string right = question.essence(*first);
    for (const Call call : calls) {
      for (const long count : {1L, kAllThatFollow}) {
        // Threads that run beside the request have allocations of their own.
        int without = 0;
        for (long n = 0; without < 3; n += all ? 1 : 1 + n / 8) {
          without = ask_with(question, call, n, count, right) ? 0 : without + 1;
          if (HasFailure()) return;
          HttpClient after = client();
          // A write of LMDB's own pages that failed costs one more request: the gallery is opened
          // again.
          if (call != Call::allocation) (void)after.get("/v1/items/0");
          question.prepare();
          const HttpResult again = question.ask(after);
          question.settle(again);
          ASSERT_TRUE(again && again->status / 100 == 2)
              << question.name << ", the next one, after " << n << ": "
              << (again ? again->body : "no answer");
          ASSERT_EQ(question.essence(*again), right);
        }
      }
    }
  }

  static std::function<HttpResult(HttpClient&)> post(const std::string& path, const Json& body) {
    return [path, text = body.dump()](HttpClient& client) {
      return client.post(path, text, "application/json");
    };
  }
};

TEST_F(ServerFaults, WhereMemoryEndsEveryRouteAnswersOrCloses) {
  const std::string jpeg = photo(3);
  const std::vector<Question> questions = {
      {"health", [](HttpClient& client) { return client.get("/healthz"); }, whole_body},
      {"metrics", [](HttpClient& client) { return client.get("/metrics"); },
       [](const HttpAnswer&) { return std::string("right"); }},
      {"gallery", [](HttpClient& client) { return client.get("/v1/gallery"); },
       [](const HttpAnswer& answer) { return Json::parse(answer.body).at("items").dump(); }},
      {"page", [](HttpClient& client) { return client.get("/"); }, whole_body},
      {"items", [](HttpClient& client) { return client.get("/v1/items?where=number%3C5"); },
       whole_body},
      {"thumbnail", [](HttpClient& client) { return client.get("/v1/items/3/thumbnail"); },
       whole_body},
      {"search", post("/v1/search", {{"query", 1}, {"top", 5}, {"where", {"number>3"}}}), hits_of},
      {"compare", post("/v1/compare", {{"source", 1}, {"target", 2}}), whole_body},
      {"explain", post("/v1/explain", {{"source", 1}, {"target", 2}}), whole_body},
      {"photo",
       [jpeg](HttpClient& client) { return client.post("/v1/search", jpeg, "image/jpeg"); },
       hits_of},
  };
  for (const Question& question : questions) {
    sweep(question, {Call::allocation});
    if (HasFailure()) return;
  }
  EXPECT_GT(metric("diml_last_resorts_total"), 0.0);
}

// Where a change is refused for its disk, nothing was changed; where the memory ends after it, the
// answer is lost, not the change.
TEST_F(ServerFaults, ChangesAreMadeOrNot) {
  const std::string jpeg = photo(5);
  const auto found = [&] {
    try {
      return gallery_->snapshot()->find("new.jpg");
    } catch (const Error&) {  // it has been opened again
      return gallery_->snapshot()->find("new.jpg");
    }
  };
  const auto id = [&] { return found().value_or(-1); };
  const auto add = [&] {
    EXPECT_EQ(client().post("/v1/items", {{"image", jpeg, "new.jpg", "image/jpeg"}})->status, 201);
  };
  const auto remove = [&] {
    if (!found()) return;
    EXPECT_EQ(client().remove("/v1/items/" + std::to_string(id()))->status, 200);
  };
  const auto expect = [&](const HttpResult& answer, bool there, bool before) {
    if (answer && answer->status / 100 == 2) {
      EXPECT_EQ(found().has_value(), there);
    } else if (answer && answer->status == 507) {
      EXPECT_EQ(found().has_value(), before);
    }
  };
  const auto done = [](const HttpAnswer&) { return std::string("right"); };
  const std::vector<Question> questions = {
      {.name = "update",
       .ask =
           [](HttpClient& client) {
             return client.send("PATCH", "/v1/items/3", {{"Content-Type", "application/json"}},
                                R"({"label": "new", "metadata": {"number": 3}})");
           },
       .essence =
           [](const HttpAnswer& answer) { return Json::parse(answer.body).at("label").dump(); }},
      {.name = "add",
       .ask =
           [&](HttpClient& client) {
             return client.post("/v1/items", {{"image", jpeg, "new.jpg", "image/jpeg"}});
           },
       .essence = done,
       .prepare = remove,
       .settle = [&](const HttpResult& answer) { expect(answer, true, false); }},
      {.name = "delete",
       .ask =
           [&](HttpClient& client) { return client.remove("/v1/items/" + std::to_string(id())); },
       .essence = done,
       .prepare =
           [&] {
             if (!found()) add();
           },
       .settle = [&](const HttpResult& answer) { expect(answer, false, true); }},
  };
  for (const Question& question : questions) {
    sweep(question, {Call::write, Call::sync, Call::allocation});
    if (HasFailure()) return;
  }
  EXPECT_TRUE(gallery_->snapshot()->verify().faults.empty());
}

}  // namespace
}  // namespace diml::test
