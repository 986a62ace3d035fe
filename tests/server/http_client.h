#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace diml::test {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpAnswer {
  int status = 0;
  std::string body{};
  std::map<std::string, std::string> headers{};  // names in lower case

  std::string header(std::string name) const;
};
using HttpResult = std::optional<HttpAnswer>;  // none if there was no answer

// A part of a form; one with a file name is a file.
struct FormItem {
  std::string name;
  std::string content;
  std::string filename{};
  std::string type{};
};

// A client of a server on this machine that waits for each answer: one connection, kept for as long
// as the server keeps it.
class HttpClient {
 public:
  // from: its own address on this machine, such as 127.0.0.7; "" for 127.0.0.1.
  explicit HttpClient(int port, std::string from = "");
  ~HttpClient();
  HttpClient(HttpClient&& other) noexcept;
  HttpClient& operator=(HttpClient&&) = delete;

  HttpResult get(const std::string& path, const HttpHeaders& headers = {});
  HttpResult remove(const std::string& path);  // DELETE
  HttpResult post(const std::string& path, const std::string& body, const std::string& type,
                  HttpHeaders headers = {});
  HttpResult post(const std::string& path, const std::vector<FormItem>& form);
  HttpResult send(const std::string& method, const std::string& path, const HttpHeaders& headers,
                  const std::string& body = "");

  // Sends raw bytes on the same connection and reads the next answer. to_head: the answer has no
  // body, whatever its headers say.
  bool write(std::string_view bytes);
  HttpResult read_answer(bool to_head = false);

  // The number of connections made.
  int connections() const { return connections_; }
  int socket();  // connects first if needed

 private:
  void close();
  HttpResult exchanged(const std::string& text, bool to_head);

  int port_;
  std::string from_;
  int socket_ = -1;
  int connections_ = 0;
  std::string arrived_;  // bytes after the last answer
};

}  // namespace diml::test
