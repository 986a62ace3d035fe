// A run of several processes is the run of one.

#include <chrono>
#include <cmath>
#include <future>
#include <thread>

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/train_folder.h"

namespace diml::test {
namespace {

using namespace std::chrono_literals;

// One that nobody listens on.
int free_port() {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  const bool bound =
      file >= 0 && ::bind(file, plain, size) == 0 && ::getsockname(file, plain, &size) == 0;
  if (file >= 0) ::close(file);
  if (!bound) throw std::runtime_error("no port");
  return ntohs(address.sin_port);
}

class TrainRanks : public TrainFolder {
 protected:
  // meanwhile: called beside process 1.
  std::vector<ProgramResult> run_two(const Arguments& arguments,
                                     const std::function<void(int process)>& meanwhile = {}) const {
    const std::string port = "MASTER_PORT=" + std::to_string(free_port());
    const auto settings = [&](const char* rank) {
      return ProgramSettings{
          .environment = {rank, "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", port, "DIML_TIMEOUT=20"}};
    };
    auto first = std::async(std::launch::async, [&] { return run(arguments, settings("RANK=0")); });
    ProgramSettings of_second = settings("RANK=1");
    of_second.meanwhile = meanwhile;
    const ProgramResult second = run(arguments, of_second);
    return {first.get(), second};
  }

  void wait_for_epochs(const std::string& out, std::size_t count) const {
    for (int wait = 0; wait < 60'000 && epoch_lines(out) < count; ++wait) {
      std::this_thread::sleep_for(1ms);
    }
  }
  std::size_t epoch_lines(const std::string& out) const {
    const std::string text = metrics_of(out);
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
};

// One step of plain descent: what the optimiser remembers is the gradient.
TEST_F(TrainRanks, TheirGradientIsThatOfOne) {
  const std::vector<Arguments> losses = {
      {"loss.name=contrastive"},
      {"loss.name=margin", "measure.kind=blended"},
      {"loss.name=proxyanchor", "measure.kind=blended"},
  };
  for (std::size_t k = 0; k < losses.size(); ++k) {
    SCOPED_TRACE(losses[k].front());
    Arguments settings = {"epochs=1",
                          "sampler.batch=24",
                          "sampler.per_class=6",
                          "optimiser.name=sgd",
                          "optimiser.momentum=0",
                          "optimiser.weight_decay=0",
                          "optimiser.learning_rate=0.01"};
    settings.insert(settings.end(), losses[k].begin(), losses[k].end());
    const std::string one = "one" + std::to_string(k);
    const std::string two = "two" + std::to_string(k);
    run_well(train(one, settings));
    const std::vector<ProgramResult> both = run_two(train(two, settings));
    for (const ProgramResult& result : both) EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(both[1].out, "");  // one of them speaks
    const Weights alone = read_safetensors(checkpoint_file(one));
    const Weights shared = read_safetensors(checkpoint_file(two));
    std::size_t compared = 0;
    double whole_difference = 0.0;
    double whole_gradient = 0.0;
    for (const auto& [name, tensor] : alone.tensors) {
      if (!name.starts_with("optimiser.first.")) continue;
      ++compared;
      const std::vector<float> x = tensor.floats();
      const std::vector<float> y = shared.tensors.at(name).floats();
      ASSERT_EQ(x.size(), y.size());
      double difference = 0.0;
      double gradient = 0.0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        difference += (double{x[i]} - y[i]) * (double{x[i]} - y[i]);
        gradient += double{x[i]} * x[i];
      }
      EXPECT_GT(gradient, 0.0) << name;
      // The shares of the cells in the gradient of this bias all but cancel: what is left of them
      // has fewer digits.
      const bool cancels = name.ends_with("projection.bias");
      EXPECT_LE(std::sqrt(difference / gradient), cancels ? 3e-5 : 1e-5) << name;
      whole_difference += difference;
      whole_gradient += gradient;
    }
    // Network, and what is learnt beside it.
    EXPECT_GT(compared, 10u);
    EXPECT_LE(std::sqrt(whole_difference / whole_gradient), 1e-5);
  }
}

TEST_F(TrainRanks, OneThatDiesEndsTheOther) {
  auto died = std::chrono::steady_clock::now();
  const std::vector<ProgramResult> both =
      run_two(train("run", {"epochs=1000", "evaluate.every=1000"}), [&](int process) {
        wait_for_epochs("run", 3);
        died = std::chrono::steady_clock::now();
        ::kill(process, SIGKILL);
      });
  EXPECT_EQ(both[1].exit_code, 128 + SIGKILL);
  expect_one_line(both[0], {"process 0 of 2", "one of them has ended", "--resume"});
  EXPECT_LT(std::chrono::steady_clock::now() - died, 20s);
}

TEST_F(TrainRanks, TheOneThatWritesEndsTheOtherAsWell) {
  const Arguments arguments = train("run", {"epochs=1000", "evaluate.every=1000"});
  const std::string port = "MASTER_PORT=" + std::to_string(free_port());
  const auto settings = [&](const char* rank) {
    return ProgramSettings{.environment = {rank, "WORLD_SIZE=2", port, "DIML_TIMEOUT=20"}};
  };
  auto second = std::async(std::launch::async, [&] { return run(arguments, settings("RANK=1")); });
  ProgramSettings of_first = settings("RANK=0");
  of_first.meanwhile = [&](int process) {
    wait_for_epochs("run", 3);
    ::kill(process, SIGKILL);
  };
  EXPECT_EQ(run(arguments, of_first).exit_code, 128 + SIGKILL);
  expect_one_line(second.get(), {"process 1 of 2", "one of them has ended"});
}

TEST_F(TrainRanks, OneThatIsStoppedStopsTheOther) {
  const Arguments settings = {"epochs=30", "evaluate.every=30"};
  const std::vector<ProgramResult> both = run_two(train("run", settings), [&](int process) {
    wait_for_epochs("run", 2);
    ::kill(process, SIGINT);
  });
  for (const ProgramResult& result : both) expect_one_line(result, {"stopped", "--resume"});
  EXPECT_LT(epoch_lines("run"), 31u);
}

TEST_F(TrainRanks, ABatchThatDoesNotDivideIsRefusedByBoth) {
  for (const ProgramResult& result : run_two(train("run", {"sampler.batch=6"}))) {
    expect_one_line(result, {"batch"});
  }
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"critters"});
}

}  // namespace
}  // namespace diml::test
