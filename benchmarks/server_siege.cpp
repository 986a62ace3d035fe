// A healthy client while others attack: server_siege PROGRAM GALLERY PHOTO [SECONDS] [one-address].
// Starts `diml serve` and holds 128 slow connections, opens 3,000 that say nothing, again and
// again, and lets four attackers post the worst bodies we know. Prints how long the healthy client
// and a probe of /healthz wait. Fails where they are refused or wait for too long. Loopback only,
// for a bounded time.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "server/http_client.h"
#include "server_process.h"

namespace {

using diml::test::HttpClient;
using diml::test::HttpResult;
using diml::test::ServerProcess;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

constexpr int kSlow = 128;
constexpr int kWaiting = 3000;
constexpr int kAttackers = 4;
constexpr double kMostMilliseconds = 1000.0;
constexpr double kMostOfHealth = 100.0;
const char* const kSlowHead = "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nX: ";
const char* const kSlowBody =
    "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    "Content-Length: 30000\r\n\r\n{";

struct Siege {
  int port = 0;
  bool one_address = false;
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::map<std::string, std::vector<double>> milliseconds;
  std::map<std::string, std::map<int, int>> statuses;  // 0: no answer

  std::string address(const std::string& other) const { return one_address ? "127.0.0.1" : other; }
  void note(const std::string& kind, int status, Clock::time_point start) {
    const double took = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    const std::lock_guard lock(mutex);
    milliseconds[kind].push_back(took);
    ++statuses[kind][status];
  }
};

void pause(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

int connected(int port, const std::string& from) {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, from.c_str(), &address.sin_addr);
  (void)::bind(made, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  (void)::connect(made, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  return made;
}

bool is_closed(int socket) {
  char next = 0;
  const ssize_t count = ::recv(socket, &next, 1, MSG_DONTWAIT);
  return count == 0 || (count < 0 && errno != EAGAIN && errno != ENOTCONN);
}

// Connections that send a byte now and then, or nothing; those that are closed are opened again.
void hold(Siege& siege, int count, bool slow, const std::string& from) {
  std::vector<int> sockets(static_cast<std::size_t>(count), -1);
  while (!siege.stop) {
    for (std::size_t k = 0; k < sockets.size() && !siege.stop; ++k) {
      if (sockets[k] >= 0 && !is_closed(sockets[k])) {
        if (slow) (void)!::send(sockets[k], " ", 1, MSG_NOSIGNAL);
        continue;
      }
      if (sockets[k] >= 0) ::close(sockets[k]);
      sockets[k] = connected(siege.port, siege.address(from));
      if (slow) {
        pause(1);
        const std::string begun = k % 2 == 0 ? kSlowHead : kSlowBody;
        (void)!::send(sockets[k], begun.data(), begun.size(), MSG_NOSIGNAL);
      }
      // A flood, but one that a machine with two cores can send beside the server.
      if (k % 10 == 0) pause(1);
    }
    pause(200);
  }
  for (const int socket : sockets) {
    if (socket >= 0) ::close(socket);
  }
}

std::uint32_t crc_of(const std::string& bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int k = 0; k < 8; ++k) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

std::string word(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift);
  return text;
}

std::string chunk(const std::string& kind, const std::string& data) {
  return word(static_cast<std::uint32_t>(data.size())) + kind + data + word(crc_of(kind + data));
}

// One bit for a pixel, all of them black; the data is not compressed.
std::string line_png(std::uint32_t width, std::size_t text_bytes) {
  std::string row(1 + (width + 7) / 8, '\0');
  const auto size = static_cast<std::uint16_t>(row.size());
  std::string packed("\x78\x01\x01", 3);
  packed += static_cast<char>(size & 255);
  packed += static_cast<char>(size >> 8);
  packed += static_cast<char>(~size & 255);
  packed += static_cast<char>((~size >> 8) & 255);
  packed += row;
  packed += word(static_cast<std::uint32_t>(row.size()) << 16 | 1U);  // Adler-32 of zeros
  std::string png("\x89PNG\r\n\x1a\n", 8);
  png += chunk("IHDR", word(width) + word(1) + std::string("\1\0\0\0\0", 5));
  for (std::size_t k = 0; k < text_bytes / 65536; ++k) {
    png += chunk("tEXt", "k" + std::to_string(k) + std::string(1, '\0') + std::string(65536, 'x'));
  }
  return png + chunk("IDAT", packed) + chunk("IEND", "");
}

std::string many_keys() {
  std::string body = "{\"query\": 1";
  for (int k = 0; k < 80'000; ++k) body += ",\"k" + std::to_string(k) + "\":1";
  return body + "}";
}

void attack(Siege& siege, int number, std::int64_t items) {
  HttpClient client(siege.port, siege.address("127.0.3." + std::to_string(number + 1)));
  const std::string keys = many_keys();
  const std::string line = line_png(100'000, 0);
  const std::string texts = line_png(100'000, 8'000'000);
  const std::string heavy =
      Json{{"query", 1}, {"top", items}, {"rerank", items}, {"lambda", 0.001}}.dump();
  for (int k = number; !siege.stop; ++k) {
    const auto start = Clock::now();
    HttpResult answer;
    if (k % 4 == 0) {
      answer = client.post("/v1/search", keys, "application/json");
    } else if (k % 4 == 1) {
      answer = client.post("/v1/search", heavy, "application/json");
    } else if (k % 4 == 2) {
      answer = client.post("/v1/search", line, "image/png");
    } else {
      answer = client.post("/v1/search", texts, "image/png");
    }
    siege.note("attack " + std::string(1, "kmlt"[k % 4]), answer ? answer->status : 0, start);
  }
}

// A client that makes a new connection now and then, as browsers do.
void live(Siege& siege, std::int64_t items, const std::string& photo) {
  std::int64_t id = 0;
  while (!siege.stop) {
    HttpClient client(siege.port);
    for (int k = 0; k < 10 && !siege.stop; ++k) {
      id = (id + 7) % items;
      const auto start = Clock::now();
      const bool is_photo = k == 9;
      const HttpResult answer =
          is_photo ? client.post("/v1/search", photo, "image/jpeg")
                   : client.post("/v1/search", Json{{"query", id}, {"top", 10}}.dump(),
                                 "application/json");
      siege.note("healthy", answer ? answer->status : 0, start);
      pause(20);
    }
  }
}

void probe(Siege& siege) {
  while (!siege.stop) {
    HttpClient client(siege.port);
    const auto start = Clock::now();
    const HttpResult answer = client.get("/healthz");
    siege.note("healthz", answer ? answer->status : 0, start);
    pause(50);
  }
}

double percentile(std::vector<double>& values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

int report(Siege& siege, double seconds) {
  int failed = 0;
  std::printf("%-10s %9s %9s %9s %9s  %s\n", "", "requests", "p50 ms", "p99 ms", "most ms",
              "answers");
  for (auto& [kind, values] : siege.milliseconds) {
    std::string answers;
    for (const auto& [status, count] : siege.statuses[kind]) {
      answers += std::to_string(status) + " x " + std::to_string(count) + "  ";
    }
    const double p99 = percentile(values, 0.99);
    std::printf("%-10s %9zu %9.1f %9.1f %9.1f  %s\n", kind.c_str(), values.size(),
                percentile(values, 0.5), p99, percentile(values, 1.0), answers.c_str());
    const bool is_ours = kind == "healthy" || kind == "healthz";
    const double most = kind == "healthz" ? kMostOfHealth : kMostMilliseconds;
    const bool all_well = siege.statuses[kind].size() == 1 && siege.statuses[kind].count(200) == 1;
    if (is_ours && (p99 > most || !all_well)) {
      std::fprintf(stderr,
                   "server_siege: %s: p99 of %.0f ms, at most %.0f allowed, and 200 alone\n",
                   kind.c_str(), p99, most);
      failed = 1;
    }
  }
  std::printf("%d slow, %d waiting, %d attackers%s, %.0f s\n", kSlow, kWaiting, kAttackers,
              siege.one_address ? " at the healthy client's address" : "", seconds);
  return failed;
}

int besiege(const std::string& program, const std::string& gallery, const std::string& photo,
            double seconds, bool one_address) {
  ServerProcess server(program, gallery);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  Siege siege;
  siege.port = server.port();
  siege.one_address = one_address;
  HttpClient first(server.port());
  const std::int64_t items = Json::parse(first.get("/v1/gallery")->body).at("items");
  std::vector<std::thread> threads;
  threads.emplace_back([&] { hold(siege, kSlow, true, "127.0.2.1"); });
  threads.emplace_back([&] { hold(siege, kWaiting, false, "127.0.2.2"); });
  for (int k = 0; k < kAttackers; ++k) threads.emplace_back([&, k] { attack(siege, k, items); });
  pause(2000);  // until all of them are there
  threads.emplace_back([&] { live(siege, items, photo); });
  threads.emplace_back([&] { probe(siege); });
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  siege.stop = true;
  for (std::thread& thread : threads) thread.join();
  int failed = report(siege, seconds);
  const int exit_code = server.stop();
  if (exit_code != 0) {
    std::fprintf(stderr, "server_siege: the server ended with %d\n", exit_code);
    failed = 1;
  }
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 4) {
      throw std::runtime_error("server_siege PROGRAM GALLERY PHOTO [SECONDS] [one-address]");
    }
    std::ifstream file(argv[3], std::ios::binary);
    const std::string photo{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (photo.empty()) throw std::runtime_error(std::string(argv[3]) + ": cannot be read");
    return besiege(argv[1], argv[2], photo, argc > 4 ? std::stod(argv[4]) : 20.0,
                   argc > 5 && std::string(argv[5]) == "one-address");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "server_siege: %s\n", error.what());
    return 1;
  }
}
