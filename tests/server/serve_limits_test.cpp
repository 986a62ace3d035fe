// The system gives the program fewer threads, less memory or fewer files than it wants, from the
// beginning or suddenly: it serves with what there is or says in one line why not, and it never
// ends by itself.

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/limited_memory.h"
#include "server/served_program.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;

// This thread as the real user of a process: some systems do not let root change limits of others.
// System calls, because the functions of the same names change all threads.
class AsUserOf {
 public:
  explicit AsUserOf(int process) {
    struct stat about {};
    if (::stat(("/proc/" + std::to_string(process)).c_str(), &about) == 0) {
      become(about.st_uid, about.st_gid);
    }
  }
  ~AsUserOf() { become(::geteuid(), ::getegid()); }
  AsUserOf(const AsUserOf&) = delete;
  AsUserOf& operator=(const AsUserOf&) = delete;

 private:
  static void become(unsigned user, unsigned group) {
    (void)::syscall(SYS_setresgid, group, -1, -1);
    (void)::syscall(SYS_setresuid, user, -1, -1);
  }
};

class ServeLimits : public ServedProgram {
 protected:
  // Whether it served; it was well or said why not.
  bool served_or_refused(const ProgramSettings& settings, const Arguments& more) const {
    bool has_served = false;
    const ProgramResult result = served(
        more,
        [&](int port, int) {
          has_served = true;
          for (int k = 0; k < 4; ++k) expect_answer(port);
        },
        settings);
    if (has_served) {
      EXPECT_EQ(result.exit_code, 0) << result.err;
      return true;
    }
    EXPECT_EQ(result.exit_code, 1) << result.err;
    EXPECT_EQ(result.err.find("diml serve: "), 0u) << result.err;
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
    return false;
  }

  // Whether its libraries begin with as little: OpenBLAS, of FAISS, waits for its memory for ever.
  bool can_be_loaded(ProgramSettings settings) const {
    settings.meanwhile = [](int process) {
      for (int wait = 0; wait < 200 && !has_ended(process); ++wait) {
        std::this_thread::sleep_for(std::chrono::milliseconds(25));
      }
      ::kill(process, SIGKILL);
    };
    return run({"--version"}, settings).exit_code == 0;
  }

  // Of a photo; the connection may be refused or closed.
  HttpResult expect_answer(int port) const {
    HttpClient client(port);
    HttpResult answer = client.post("/v1/search", photo_, "image/jpeg");
    if (answer) {
      EXPECT_TRUE(answer->status == 200 || answer->status == 503) << answer->body;
    }
    return answer;
  }

  // Many clients at once, each with several requests.
  void crowd(int port) const {
    std::vector<std::thread> clients;
    for (int t = 0; t < 12; ++t) {
      clients.emplace_back([&, t] {
        for (int k = 0; k < 6; ++k) {
          HttpClient client(port);
          if ((t + k) % 3 == 0) {
            expect_answer(port);
          } else if ((t + k) % 3 == 1) {
            (void)client.post("/v1/search", std::string(1'000'000, '['), "application/json");
          } else {
            (void)client.get("/v1/items?limit=20");
          }
        }
      });
    }
    for (std::thread& client : clients) client.join();
  }

  // As before: a moment may pass until the server tries again.
  void expect_well(int port) const {
    HttpResult answer;
    for (int wait = 0; wait < 200 && !(answer && answer->status == 200); ++wait) {
      answer = expect_answer(port);
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200) << answer->body;
    EXPECT_EQ(HttpClient(port).get("/healthz")->status, 200);
  }

  // The program may have no more than `most` now; then as much as before.
  void with_limit(int process, __rlimit_resource resource, std::size_t most,
                  const std::function<void()>& meanwhile) const {
    const AsUserOf user(process);
    rlimit before{};
    ASSERT_EQ(::prlimit(process, resource, nullptr, &before), 0);
    const rlimit little{most, before.rlim_max};
    ASSERT_EQ(::prlimit(process, resource, &little, nullptr), 0);
    meanwhile();
    ASSERT_EQ(::prlimit(process, resource, &before, nullptr), 0);
  }

  static std::size_t bytes_of_data(int process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/status");
    for (std::string word; file >> word;) {
      std::size_t kilobytes = 0;
      if (word == "VmData:" && file >> kilobytes) return kilobytes << 10;
    }
    return 0;
  }

  static std::size_t open_files(int process) {
    const fs::directory_iterator all("/proc/" + std::to_string(process) + "/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  // Limits of threads count for all processes of a user, and not for root.
  ProgramSettings as_somebody() const {
    fs::permissions(folder_.path(), fs::perms(0755));
    fs::permissions(at("g/lock.mdb"), fs::perms(0666));
    return {.environment = {"OMP_NUM_THREADS=2"},
            .user = 100'000 + static_cast<unsigned>(::getpid()) % 100'000};
  }
};

TEST_F(ServeLimits, FewThreadsAreEnoughOrItSaysSo) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become a user with no other threads";
  ProgramSettings settings = as_somebody();
  int serving = 0;
  for (const std::size_t threads : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 24, 32}) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    settings.most_threads = threads;
    const bool served = served_or_refused(settings, {"--read-only"});
    EXPECT_TRUE(served || serving == 0) << "with fewer it served";
    serving += served ? 1 : 0;
  }
  EXPECT_GT(serving, 2);
}

TEST_F(ServeLimits, ThreadsThatAreRefusedSuddenlyAreDoneWithout) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become a user with no other threads";
  const ProgramResult result = served(
      {"--read-only"},
      [&](int port, int process) {
        with_limit(process, RLIMIT_NPROC, 1, [&] {
          crowd(port);
          expect_well(port);
        });
        crowd(port);
        expect_well(port);
      },
      as_somebody());
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

// Not run: oneDNN ends the process by a signal where memory ends while it makes a primitive
// (docs/reliability.md, "Open").
TEST_F(ServeLimits, DISABLED_LittleMemoryIsEnoughOrItSaysSo) {
  if (!kMemoryCanBeLimited) GTEST_SKIP() << "sanitizers take all addresses";
  int serving = 0;
  for (const std::size_t megabytes : {40, 60, 80, 100, 150, 200, 250, 300, 400, 500, 800, 1200}) {
    SCOPED_TRACE(std::to_string(megabytes) + " MB");
    ProgramSettings settings{.environment = {"OMP_NUM_THREADS=2"}};
    settings.most_data = megabytes << 20;
    if (!can_be_loaded(settings)) continue;
    bool has_served = false;
    const ProgramResult result = served(
        {},
        [&](int port, int) {
          has_served = true;
          for (int k = 0; k < 4; ++k) expect_answer(port);
        },
        settings);
    EXPECT_EQ(result.exit_code, has_served ? 0 : 1) << result.err;
    serving += has_served ? 1 : 0;
  }
  EXPECT_GT(serving, 2);
}

TEST_F(ServeLimits, MemoryThatEndsSuddenlyCostsAnswersAndNothingElse) {
  if (!kMemoryCanBeLimited) GTEST_SKIP() << "sanitizers take all addresses";
  const ProgramResult result = served({}, [&](int port, int process) {
    crowd(port);
    for (const std::size_t more : {0, 1 << 16, 1 << 20, 4 << 20, 16 << 20}) {
      SCOPED_TRACE(std::to_string(more) + " bytes more");
      with_limit(process, RLIMIT_DATA, bytes_of_data(process) + more, [&] { crowd(port); });
      expect_well(port);
      HttpClient client(port);
      EXPECT_EQ(add(client, "after " + std::to_string(more) + ".jpg")->status, 201);
    }
  });
  EXPECT_EQ(result.exit_code, 0) << result.err;
  run_well({"index", "verify", "g"});
}

TEST_F(ServeLimits, FewFilesAreEnoughOrItSaysSo) {
  int serving = 0;
  for (const std::size_t files : {6, 8, 10, 12, 14, 16, 20, 24, 32, 64}) {
    SCOPED_TRACE(std::to_string(files) + " files");
    ProgramSettings settings;
    settings.most_files = files;
    bool has_served = false;
    const ProgramResult result = served(
        {},
        [&](int port, int) {
          has_served = true;
          for (int k = 0; k < 4; ++k) expect_answer(port);
        },
        settings);
    // 126 and 127: its libraries cannot be opened, so that it does not even begin.
    const bool has_begun = result.exit_code != 126 && result.exit_code != 127;
    EXPECT_TRUE(result.exit_code == (has_served ? 0 : 1) || (!has_served && !has_begun))
        << result.exit_code << ": " << result.err;
    serving += has_served ? 1 : 0;
  }
  EXPECT_GT(serving, 2);
}

TEST_F(ServeLimits, FilesThatEndSuddenlyMakeClientsWaitOrLeave) {
  const ProgramResult result = served({}, [&](int port, int process) {
    HttpClient kept(port);
    EXPECT_EQ(search(kept)->status, 200);
    with_limit(process, RLIMIT_NOFILE, open_files(process), [&] {
      for (int k = 0; k < 4; ++k) {
        HttpClient other(port);
        EXPECT_TRUE(other.socket() >= 0);
        const HttpResult answer = search(other);
        EXPECT_TRUE(!answer || answer->status == 200 || answer->status == 503);
      }
    });
    expect_well(port);
    HttpClient client(port);
    EXPECT_EQ(add(client, "after.jpg")->status, 201);
  });
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

}  // namespace
}  // namespace diml::test
