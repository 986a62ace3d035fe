#include "server/served_program.h"

#include <chrono>
#include <optional>
#include <thread>

#include <sys/wait.h>

#include "diml/error.h"

namespace diml::test {
bool has_ended(int process) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid != 0;
}

namespace {

// That the program prints; none where it ends before.
std::optional<int> port_in(const std::string& file, int process) {
  const std::string here = "http://127.0.0.1:";
  for (int wait = 0; wait < 2400; ++wait) {
    const bool ended = has_ended(process);
    const std::string text = bytes_of(file);
    const std::size_t begin = text.find(here);
    if (begin != std::string::npos && text.find("Ctrl-C") != std::string::npos) {
      return std::stoi(text.substr(begin + here.size()));
    }
    if (ended) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  throw Error("diml serve says no port");
}

}  // namespace

ServedProgram::ServedProgram() {
  run_well({"index", "build", "g", "--model", "small.safetensors", "--dataset", "critters",
            "--root", "critters"});
}

ProgramResult ServedProgram::served(const Arguments& more,
                                    const std::function<void(int port, int process)>& call,
                                    ProgramSettings settings, int signal) const {
  put_text("out.txt", "");
  std::filesystem::permissions(at("out.txt"), std::filesystem::perms(0666));
  settings.standard_output = at("out.txt");
  settings.meanwhile = [&](int process) {
    try {
      if (const auto port = port_in(at("out.txt"), process)) call(*port, process);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
    ::kill(process, signal);
  };
  Arguments arguments = {"serve", "g", "--port", "0"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments, settings);
}

HttpResult ServedProgram::add(HttpClient& client, const std::string& name) const {
  return client.post("/v1/items", {{"image", photo_, name, "image/jpeg"}});
}

HttpResult ServedProgram::search(HttpClient& client) {
  return client.post("/v1/search", "{\"query\": 2}", "application/json");
}

}  // namespace diml::test
