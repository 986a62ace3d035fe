#include "server/http_client.h"

#include <algorithm>
#include <cctype>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace diml::test {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t kReceived = 65536;
constexpr time_t kPatience = 60;
constexpr const char* kBoundary = "----a-boundary-that-is-in-no-photo";

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

std::string HttpAnswer::header(std::string name) const {
  const auto found = headers.find(lower(std::move(name)));
  return found == headers.end() ? "" : found->second;
}

HttpClient::HttpClient(int port, std::string from) : port_(port), from_(std::move(from)) {}

HttpClient::HttpClient(HttpClient&& other) noexcept
    : port_(other.port_),
      from_(std::move(other.from_)),
      socket_(std::exchange(other.socket_, -1)),
      connections_(other.connections_),
      arrived_(std::move(other.arrived_)) {}

HttpClient::~HttpClient() { close(); }

void HttpClient::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
  arrived_.clear();
}

int HttpClient::socket() {
  if (socket_ >= 0) return socket_;
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  const timeval patience{kPatience, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (!from_.empty() && ::inet_pton(AF_INET, from_.c_str(), &address.sin_addr) == 1) {
    (void)::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  address.sin_port = htons(static_cast<std::uint16_t>(port_));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) close();
  ++connections_;
  return socket_;
}

bool HttpClient::write(std::string_view bytes) {
  if (socket() < 0) return false;
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

HttpResult HttpClient::read_answer(bool to_head) {
  http::response_parser<http::string_body> parser;
  parser.skip(to_head);
  parser.eager(true);
  parser.body_limit(std::uint64_t{1} << 32);
  while (!parser.is_done()) {
    boost::beast::error_code failed;
    if (!arrived_.empty()) {
      const std::size_t taken =
          parser.put(boost::asio::const_buffer(arrived_.data(), arrived_.size()), failed);
      arrived_.erase(0, taken);
      if (failed && failed != http::error::need_more) return std::nullopt;
      if (parser.is_done()) break;
    }
    char block[kReceived];
    const ssize_t count = ::recv(socket_, block, sizeof(block), 0);
    if (count < 0) return std::nullopt;
    if (count == 0) {
      if (parser.got_some()) parser.put_eof(failed);
      if (failed || !parser.is_done()) return std::nullopt;
      break;
    }
    arrived_.append(block, static_cast<std::size_t>(count));
  }
  HttpAnswer answer{static_cast<int>(parser.get().result_int()), parser.get().body()};
  for (const auto& field : parser.get()) {
    const auto name = field.name_string();
    const auto value = field.value();
    answer.headers[lower({name.data(), name.size()})] = {value.data(), value.size()};
  }
  if (!parser.get().keep_alive()) close();
  return answer;
}

HttpResult HttpClient::send(const std::string& method, const std::string& path,
                            const HttpHeaders& headers, const std::string& body) {
  std::string text = method + " " + path + " HTTP/1.1\r\n";
  bool has_host = false;
  for (const auto& [name, value] : headers) {
    text.append(name).append(": ").append(value).append("\r\n");
    has_host |= name == "Host";
  }
  if (!has_host) text += "Host: 127.0.0.1:" + std::to_string(port_) + "\r\n";
  if (!body.empty() || method == "POST" || method == "PUT") {
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  }
  text += "\r\n" + body;
  // The server may have closed a kept connection.
  const bool was_kept = socket_ >= 0;
  HttpResult answer = exchanged(text, method == "HEAD");
  if (!answer && was_kept) answer = exchanged(text, method == "HEAD");
  return answer;
}

// A client that is refused while it sends still reads the answer.
HttpResult HttpClient::exchanged(const std::string& text, bool to_head) {
  (void)write(text);
  HttpResult answer;
  if (socket_ >= 0) answer = read_answer(to_head);
  if (!answer) close();
  return answer;
}

HttpResult HttpClient::get(const std::string& path, const HttpHeaders& headers) {
  return send("GET", path, headers);
}

HttpResult HttpClient::remove(const std::string& path) { return send("DELETE", path, {}); }

HttpResult HttpClient::post(const std::string& path, const std::string& body,
                            const std::string& type, HttpHeaders headers) {
  headers.emplace_back("Content-Type", type);
  return send("POST", path, headers, body);
}

HttpResult HttpClient::post(const std::string& path, const std::vector<FormItem>& form) {
  std::string body;
  for (const FormItem& item : form) {
    body += "--" + std::string(kBoundary) + "\r\nContent-Disposition: form-data; name=\"" +
            item.name + "\"";
    if (!item.filename.empty()) body += "; filename=\"" + item.filename + "\"";
    if (!item.type.empty()) body += "\r\nContent-Type: " + item.type;
    body += "\r\n\r\n" + item.content + "\r\n";
  }
  body += "--" + std::string(kBoundary) + "--\r\n";
  return post(path, body, "multipart/form-data; boundary=" + std::string(kBoundary));
}

}  // namespace diml::test
