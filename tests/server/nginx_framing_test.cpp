// The same bytes to this server and to nginx in front of it: what nginx takes for one request is
// one request for us.

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/framing_tricks.h"
#include "server/nginx.h"
#include "server/served_gallery.h"

namespace diml::test {
namespace {

// Milliseconds without a byte, after which a server waits for the rest of a request.
constexpr int kPatience = 500;

// One request in a log.
struct Taken {
  std::string line;  // "GET /healthz"
  bool refused;      // as no request at all
  bool forwarded;    // by nginx
};
using TakenOf = std::map<std::string, std::vector<Taken>>;  // by the client's address

// Each case comes from an address of its own, so that both logs say whose a request is.
std::string address_of(std::size_t number) {
  return "127.1." + std::to_string(number / 250) + "." + std::to_string(number % 250 + 1);
}

class NginxInFront : public ServedGallery {
 protected:
  void SetUp() override {
    if (Nginx::program().empty()) GTEST_SKIP() << "nginx is not installed (Debian: nginx)";
    ServerParams params;
    params.limits.receive_seconds = 5.0;
    params.trusted_proxies = {"127.0.0.1"};
    params.served = [this](const ServedRequest& request) {
      const std::lock_guard lock(mutex_);
      served_[request.client].push_back({request.method + " " + request.target,
                                         request.method.empty() || is_refusal(request.status),
                                         true});
    };
    serve(params);
    port_ = Nginx::free_port();
    nginx_ = std::make_unique<Nginx>(http_lines(), port_);
  }

  // Before the members below, which the server's threads use.
  void TearDown() override {
    nginx_.reset();
    server_.reset();
  }

  // Headers and bodies go on as they come, as far as nginx allows.
  std::string http_lines() const {
    return "log_format taken escape=json '{\"from\":\"$remote_addr\",\"line\":\"$request_method "
           "$request_uri\",\"status\":$status,\"to\":\"$upstream_addr\"}';\n"
           "access_log taken.log taken;\n"
           "upstream diml { server 127.0.0.1:" +
           std::to_string(server_->port()) +
           "; keepalive 4; }\n"
           "server {\nlisten 127.0.0.1:" +
           std::to_string(port_) +
           ";\nignore_invalid_headers off; underscores_in_headers on; lingering_close off;\n"
           "location / {\nproxy_pass http://diml; proxy_http_version 1.1;\n"
           "proxy_request_buffering off; proxy_set_header Connection \"\";\n"
           "proxy_set_header Host localhost; proxy_set_header X-Forwarded-For $remote_addr;\n"
           "proxy_next_upstream off;\n} }\n";
  }

  static bool is_refusal(int status) { return status == 400 || status == 408 || status >= 500; }

  // Sends the bytes and reads until the server closes, or has nothing to say for a moment.
  static void send(int port, const std::string& from, const std::string& bytes) {
    const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    ::inet_pton(AF_INET, from.c_str(), &address.sin_addr);
    EXPECT_EQ(::bind(made, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0) << from;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    EXPECT_EQ(::connect(made, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0) << from;
    (void)!::send(made, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    char block[4096];
    pollfd one{made, POLLIN, 0};
    while (::poll(&one, 1, kPatience) > 0 && ::recv(made, block, sizeof(block), 0) > 0) {
    }
    ::close(made);
  }

  TakenOf taken_by_nginx() const {
    TakenOf all;
    std::ifstream log(nginx_->at("taken.log"));
    for (std::string line; std::getline(log, line);) {
      const Json json = Json::parse(line, nullptr, false);
      if (json.is_discarded()) {
        ADD_FAILURE() << line;
        continue;
      }
      const std::string to = json.at("to");
      const int status = json.at("status");
      all[json.at("from")].push_back(
          {json.at("line"), is_refusal(status) && to.empty(), !to.empty()});
    }
    return all;
  }

  void compare(const std::vector<std::string>& cases);

  int port_ = 0;
  std::unique_ptr<Nginx> nginx_;
  std::mutex mutex_;
  TakenOf served_;
};

std::vector<std::string> lines_of(const std::vector<Taken>& all) {
  std::vector<std::string> lines;
  for (const Taken& one : all) lines.push_back(one.line);
  return lines;
}

void NginxInFront::compare(const std::vector<std::string>& cases) {
  // Several at once: cases that wait for more bytes cost time, not work.
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> clients;
  for (int t = 0; t < 16; ++t) {
    clients.emplace_back([&] {
      for (std::size_t k = 0; (k = next++) < cases.size();) {
        send(server_->port(), address_of(k), cases[k]);
        send(port_, address_of(k + cases.size()), cases[k]);
      }
    });
  }
  for (std::thread& client : clients) client.join();
  nginx_->stop();
  server_->stop();
  TakenOf by_nginx = taken_by_nginx();
  std::size_t forwarded_in_all = 0;
  std::size_t taken_directly = 0;
  for (std::size_t k = 0; k < cases.size(); ++k) {
    std::vector<Taken> nginx = by_nginx[address_of(k + cases.size())];
    // Through nginx: exactly the requests that it has forwarded arrive, one for one.
    std::vector<Taken> forwarded;
    std::copy_if(nginx.begin(), nginx.end(), std::back_inserter(forwarded),
                 [](const Taken& one) { return one.forwarded; });
    std::vector<Taken> arrived = served_[address_of(k + cases.size())];
    forwarded_in_all += forwarded.size();
    // Some are cut off by the client before their head was sent on, or refused by their head.
    arrived.erase(std::remove_if(arrived.begin(), arrived.end(),
                                 [](const Taken& one) { return one.line == " "; }),
                  arrived.end());
    EXPECT_LE(arrived.size(), forwarded.size()) << cases[k];
    for (const std::string& line : lines_of(arrived)) {
      const std::vector<std::string> known = lines_of(forwarded);
      EXPECT_NE(std::find(known.begin(), known.end(), line), known.end())
          << "nginx did not forward " << line << " of\n"
          << cases[k];
    }
    // Directly: as long as both take what they read for requests, they read the same ones. The
    // server may refuse what nginx takes, never the other way to a different request.
    const std::vector<Taken>& direct = served_[address_of(k)];
    for (std::size_t r = 0; r < direct.size(); ++r) {
      if (direct[r].refused) break;
      ++taken_directly;
      if (r < nginx.size() && nginx[r].refused) break;
      // What nginx waits for in vain is not in its log.
      if (r >= nginx.size()) {
        ADD_FAILURE() << "nginx does not take " << direct[r].line << " of\n" << cases[k];
        break;
      }
      EXPECT_EQ(direct[r].line, nginx[r].line) << cases[k];
    }
  }
  // The comparison compares something.
  EXPECT_GT(forwarded_in_all, cases.size() / 20);
  EXPECT_GT(taken_directly, cases.size() / 20);
}

TEST_F(NginxInFront, TricksAreTheSameRequestsForBoth) {
  std::vector<std::string> cases;
  for (const FramingTrick& trick : framing_tricks()) cases.push_back(trick.bytes + kHidden);
  const std::string good = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  cases.insert(cases.end(), 10, good + good + good);
  compare(cases);
  EXPECT_TRUE(gallery_->snapshot()->contains(0));
}

TEST_F(NginxInFront, MutationsAreTheSameRequestsForBoth) {
  const std::string body = "{\"query\": 1, \"top\": 1}";
  const std::string head =
      "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  const std::string last = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const std::vector<std::string> seeds = {
      head + "Content-Length: 22\r\n\r\n" + body + last,
      head + "Transfer-Encoding: chunked\r\n\r\n16;a=b\r\n" + body + "\r\n0\r\nX: y\r\n\r\n" + last,
      head + "Transfer-Encoding: chunked\r\n\r\n0A\r\n" + body.substr(0, 10) + "\r\nc\r\n" +
          body.substr(10) + "\r\n0\r\n\r\n" + last,
  };
  const std::vector<std::string> pieces = {"\r\n",
                                           "\n",
                                           "\r",
                                           " ",
                                           "\t",
                                           ";",
                                           "0",
                                           "\x0b",
                                           "\0x",
                                           ":",
                                           ",",
                                           "1",
                                           "f",
                                           "\r\n\r\n",
                                           "Content-Length: 3\r\n",
                                           "Transfer-Encoding: chunked\r\n"};
  std::mt19937 random(20);
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  std::vector<std::string> cases = seeds;
  while (cases.size() < 150) {
    std::string bytes = seeds[below(seeds.size())];
    for (std::size_t changes = 1 + below(2); changes > 0; --changes) {
      // Where lines end and lengths stand, most of the time.
      std::size_t at = below(bytes.size());
      if (below(3) != 0)
        at = std::min(bytes.find_first_of("\r\n:;0123456789", at), bytes.size() - 1);
      const std::string& piece = pieces[below(pieces.size())];
      switch (below(3)) {
        case 0:
          bytes.insert(at, piece);
          break;
        case 1:
          bytes.replace(at, 1, piece);
          break;
        default:
          bytes.erase(at, 1 + below(2));
      }
    }
    cases.push_back(bytes);
  }
  compare(cases);
}

}  // namespace
}  // namespace diml::test
