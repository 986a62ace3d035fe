// The program: starting, being asked to end while somebody waits, wrong calls.

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/photo_folder.h"
#include "diml/error.h"
#include "server/http_client.h"

namespace diml::test {
namespace {

class ServeCommand : public PhotoFolder {
 protected:
  ServeCommand() {
    run_well({"index", "build", "g", "--model", "small.safetensors", "--dataset", "critters",
              "--root", "critters"});
  }
  // The port that the program names, from a file that takes its output.
  int port_in(const std::string& name) const {
    for (int wait = 0; wait < 400; ++wait) {
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
      const std::string text = bytes_of(at(name));
      const std::size_t begin = text.find("http://127.0.0.1:");
      if (begin != std::string::npos && text.find("Ctrl-C") != std::string::npos) {
        return std::stoi(text.substr(begin + 17));
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
              // Only who comes after the signal may find the door closed.
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

TEST_F(ServeCommand, RefusesWrongCallsInOneLine) {
  expect_refused({"serve", "nothing"}, {"nothing: there is no gallery"});
  expect_refused({"serve", "g", "--port", "0", "--token-file", "none.txt"}, {"none.txt"});
  put_text("token.txt", "two words\n");
  expect_refused({"serve", "g", "--port", "0", "--token-file", "token.txt"},
                 {"a token is of visible ASCII characters"});
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
                 {std::to_string(port) + " cannot be served", "choose another --port"});
  ::close(other);
}

}  // namespace
}  // namespace diml::test
