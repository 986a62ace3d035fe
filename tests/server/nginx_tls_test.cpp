// The configuration of deploy/nginx.conf with the real nginx: TLS in front, a Unix socket behind,
// and a certificate that is renewed while it runs.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include <sys/wait.h>

#include "diml/error.h"
#include "server/nginx.h"
#include "server/served_gallery.h"

namespace diml::test {
namespace {

std::string text_of(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(name).rdbuf();
  return text.str();
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  ASSERT_NE(text.find(what), std::string::npos) << what;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
}

class NginxWithTls : public ServedGallery {
 protected:
  void SetUp() override {
    if (Nginx::program().empty()) GTEST_SKIP() << "nginx is not installed (Debian: nginx)";
    if (run("openssl version") != 0) GTEST_SKIP() << "openssl is not installed (Debian: openssl)";
    ServerParams params{.socket = folder_ / "diml.sock",
                        .tokens = {{"shop", "look", TokenRights::read}, {"boss", "touch"}},
                        .allowed_hosts = {"photos.example"},
                        .trusted_proxies = {"unix"}};
    params.served = [this](const ServedRequest& request) {
      const std::lock_guard lock(mutex_);
      seen_.push_back(request);
    };
    server_.reset();
    server_ = std::make_unique<Server>(gallery_, nullptr, "no photos here", params);
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
    make_certificate("first");
    tls_ = Nginx::free_port();
    const int plain = Nginx::free_port();
    std::string lines = text_of(DIML_NGINX_CONF);
    replace_all(lines, "/run/diml/diml.sock", folder_ / "diml.sock");
    replace_all(lines, "/etc/ssl/diml/fullchain.pem", folder_ / "cert.pem");
    replace_all(lines, "/etc/ssl/diml/key.pem", folder_ / "key.pem");
    // Machines of tests may have no IPv6.
    std::istringstream all(lines);
    std::string kept;
    for (std::string line; std::getline(all, line);) {
      if (line.find("listen [::]") == std::string::npos) kept += line + "\n";
    }
    replace_all(kept, "listen 443", "listen 127.0.0.1:" + std::to_string(tls_));
    replace_all(kept, "listen 80", "listen 127.0.0.1:" + std::to_string(plain));
    nginx_ = std::make_unique<Nginx>("access_log off;\n" + kept, tls_, Nginx::Master::yes);
  }
  void TearDown() override {
    nginx_.reset();
    server_.reset();
  }

  static int run(const std::string& command) {
    const int status = std::system((command + " > /dev/null 2>&1").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void make_certificate(const std::string& name) const {
    ASSERT_EQ(run("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /O=" + name +
                  "/CN=photos.example -addext subjectAltName=DNS:photos.example -keyout " +
                  (folder_ / "key.pem") + " -out " + (folder_ / "cert.pem")),
              0);
  }
  // What openssl's client gets; its own words too: the certificate's subject.
  std::string ask(const std::string& request, const std::string& name = "photos.example") const {
    const std::string file = folder_ / "request.txt";
    std::ofstream(file) << request;
    const std::string command =
        "(cat " + file +
        "; sleep 0.5) | openssl s_client -connect 127.0.0.1:" + std::to_string(tls_) +
        " -servername " + name + " -CAfile " + (folder_ / "cert.pem") +
        " -verify_return_error 2>&1";
    std::string answer;
    FILE* pipe = ::popen(command.c_str(), "r");
    std::array<char, 4096> block{};
    for (std::size_t count = 0; (count = std::fread(block.data(), 1, block.size(), pipe)) > 0;) {
      answer.append(block.data(), count);
    }
    ::pclose(pipe);
    // "O = first" before OpenSSL 3.2, "O=first" since.
    for (std::size_t at = 0; (at = answer.find(" = ", at)) != std::string::npos;) {
      answer.replace(at, 3, "=");
    }
    return answer;
  }
  static std::string get(const std::string& path, const std::string& headers = "") {
    return "GET " + path + " HTTP/1.1\r\nHost: photos.example\r\nConnection: close\r\n" + headers +
           "\r\n";
  }

  int tls_ = 0;
  std::unique_ptr<Nginx> nginx_;
  std::mutex mutex_;
  std::vector<ServedRequest> seen_;
};

TEST_F(NginxWithTls, TheConfigurationThatIsShippedServes) {
  const std::string page = ask(get("/"));
  EXPECT_NE(page.find("Verify return code: 0"), std::string::npos) << page;
  EXPECT_NE(page.find("HTTP/1.1 200"), std::string::npos) << page;
  EXPECT_NE(page.find("Strict-Transport-Security"), std::string::npos) << page;
  EXPECT_NE(page.find("frame-ancestors 'none'"), std::string::npos) << page;
  EXPECT_NE(ask(get("/v1/items")).find("HTTP/1.1 401"), std::string::npos);
  const std::string token = "Authorization: Bearer look\r\nX-Forwarded-For: 192.0.2.66\r\n";
  EXPECT_NE(ask(get("/v1/items", token)).find("HTTP/1.1 200"), std::string::npos);
  EXPECT_NE(ask(get("/metrics", token)).find("HTTP/1.1 404"), std::string::npos);
  // A name that it was not told gets no handshake.
  EXPECT_EQ(ask(get("/"), "evil.example").find("HTTP/1.1"), std::string::npos);
  const std::lock_guard lock(mutex_);
  ASSERT_EQ(seen_.size(), 3u);
  EXPECT_EQ(seen_[2].client, "127.0.0.1");  // nginx's word, not the client's
  EXPECT_EQ(seen_[2].token, "shop");
  EXPECT_EQ(seen_[2].id.size(), 32u);
}

TEST_F(NginxWithTls, ARenewedCertificateIsTakenWhileItRuns) {
  EXPECT_NE(ask(get("/healthz")).find("O=first"), std::string::npos);
  make_certificate("second");
  nginx_->reload();
  std::string answer;
  for (int wait = 0; wait < 20 && answer.find("O=second") == std::string::npos; ++wait) {
    answer = ask(get("/healthz"));
    // Requests during the change are answered.
    if (answer.find("O=first") != std::string::npos) continue;
  }
  EXPECT_NE(answer.find("O=second"), std::string::npos) << answer;
  EXPECT_NE(answer.find("HTTP/1.1 200"), std::string::npos) << answer;
}

}  // namespace
}  // namespace diml::test
