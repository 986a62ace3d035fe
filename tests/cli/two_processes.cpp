#include "cli/two_processes.h"

#include <future>
#include <stdexcept>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

namespace diml::test {
namespace {

// A free port.
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

}  // namespace

std::vector<ProgramResult> run_two(
    const RunWith& first, const RunWith& second,
    const std::function<void(std::size_t rank, int process)>& meanwhile) {
  const std::string port = "MASTER_PORT=" + std::to_string(free_port());
  const auto settings = [&](std::size_t rank) {
    ProgramSettings made{.environment = {"RANK=" + std::to_string(rank), "WORLD_SIZE=2",
                                         "MASTER_ADDR=127.0.0.1", port, "DIML_TIMEOUT=20"}};
    if (meanwhile) made.meanwhile = [&meanwhile, rank](int process) { meanwhile(rank, process); };
    return made;
  };
  auto beside = std::async(std::launch::async, [&] { return first(settings(0)); });
  const ProgramResult result = second(settings(1));
  return {beside.get(), result};
}

}  // namespace diml::test
