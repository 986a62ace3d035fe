#include "server/framing_tricks.h"

#include <utility>

namespace diml::test {
namespace {

using namespace std::string_literals;

std::string post(const std::string& headers, const std::string& body) {
  return "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
         headers + "\r\n\r\n" + body;
}

std::string chunked(const std::string& chunks) {
  return post("Transfer-Encoding: chunked", chunks);
}

void add_lengths(std::vector<FramingTrick>& all) {
  for (const std::string& length :
       {"+2"s, "-0"s, "0, 0"s, "2, 2"s, "0 2"s, "0x2"s, "2;"s, "\"2\""s, ""s, "2\0"s, "2e0"s, "2."s,
        "\xd9\xa2"s, "18446744073709551618"s,
        "\x0b"
        "2"s}) {
    all.push_back({"Content-Length: " + length, post("Content-Length: " + length, "{}")});
  }
  all.push_back({"two lengths", post("Content-Length: 2\r\nContent-Length: 54", "{}")});
  all.push_back({"a length twice", post("Content-Length: 2\r\ncontent-length: 2", "{}")});
  all.push_back({"a space before the colon", post("Content-Length : 2", "{}")});
  all.push_back({"a folded length", post("Content-Length:\r\n 2", "{}")});
  all.push_back({"a name with NUL", post("Content-Length\0: 2"s, "{}")});
  all.push_back({"a get with a body",
                 "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nabcde"});
}

void add_both(std::vector<FramingTrick>& all) {
  const std::string end = "0\r\n\r\n";
  all.push_back(
      {"length and chunks", post("Content-Length: 5\r\nTransfer-Encoding: chunked", end)});
  all.push_back(
      {"chunks and length", post("Transfer-Encoding: chunked\r\nContent-Length: 5", end)});
  all.push_back(
      {"chunks and length 0", post("Transfer-Encoding: chunked\r\nContent-Length: 0", end)});
  for (const std::string& coding :
       {"chunked, chunked"s, "chunked, identity"s, "identity, chunked"s, "gzip, chunked"s,
        "xchunked"s, "chunked;q=1"s, "\"chunked\""s, "chunked,"s, ",chunked"s, "identity"s, ""s,
        "\x0b"
        "chunked"s,
        "chunked\0"s,
        "chunk\xe9"
        "d"s}) {
    all.push_back({"Transfer-Encoding: " + coding, post("Transfer-Encoding: " + coding, end)});
  }
  all.push_back(
      {"two codings", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", end)});
  all.push_back({"a space before the coding's colon", post("Transfer-Encoding : chunked", end)});
  all.push_back({"a tab before the coding's colon", post("Transfer-Encoding\t: chunked", end)});
  all.push_back({"a folded coding", post("Transfer-Encoding:\r\n chunked", end)});
  all.push_back({"a coding in a folded line", post("X: y\r\n Transfer-Encoding: chunked", end)});
  all.push_back({"a coding after LF", post("X: y\nTransfer-Encoding: chunked", end)});
  all.push_back({"a coding after CR", post("X: y\rTransfer-Encoding: chunked", end)});
  all.push_back({"an underscore", post("Transfer_Encoding: chunked", end)});
  all.push_back({"chunks of HTTP/1.0",
                 "POST /v1/search HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n"
                 "Transfer-Encoding: chunked\r\n\r\n" +
                     end});
}

void add_chunks(std::vector<FramingTrick>& all) {
  for (const std::string& chunks : {"0x0\r\n\r\n"s,
                                    "+0\r\n\r\n"s,
                                    "-0\r\n\r\n"s,
                                    " 0\r\n\r\n"s,
                                    "0 \r\n\r\n"s,
                                    "\t0\r\n\r\n"s,
                                    "\r\n0\r\n\r\n"s,
                                    "0\n\r\n"s,
                                    "0\n\n"s,
                                    "0\r\r\n\r\n"s,
                                    "0\r\n\n"s,
                                    "0\r\n\r"s,
                                    "0;\n\r\n\r\n"s,
                                    "0;a\nb\r\n\r\n"s,
                                    "0;a=b\n\n"s,
                                    "0;a\rb\r\n\r\n"s,
                                    "0;a=\"b\r\n\r\n"s,
                                    "0;=b\r\n\r\n"s,
                                    "0;a==b\r\n\r\n"s,
                                    "0;\r\n\r\n"s,
                                    "0,\r\n\r\n"s,
                                    "0\0\r\n\r\n"s,
                                    "2\r\n{}0\r\n\r\n"s,
                                    "2\r\n{}\n0\r\n\r\n"s,
                                    "2\r\n{}\r0\r\n\r\n"s,
                                    "2\r\n{}  \r\n0\r\n\r\n"s,
                                    "2\n{}\r\n0\r\n\r\n"s,
                                    "2;\nxx\r\n{}\r\n0\r\n\r\n"s,
                                    "2;x=\"\n\"\r\n{}\r\n0\r\n\r\n"s,
                                    "10000000000000002\r\n{}\r\n0\r\n\r\n"s,
                                    "100000000\r\n{}\r\n0\r\n\r\n"s,
                                    "g\r\n\r\n"s,
                                    "\r\n\r\n"s,
                                    "two\r\n{}\r\n0\r\n\r\n"s,
                                    "2 2\r\n{}\r\n0\r\n\r\n"s}) {
    all.push_back({"chunks", chunked(chunks)});
  }
  for (const std::string& trailer :
       {"Content-Length: 5"s, "Transfer-Encoding: chunked"s, "Host: evil.example"s,
        "Authorization: Bearer x"s, "no colon"s, " folded"s, "X : y"s, ": y"s, "X: y\n"s,
        "X: y\rZ"s, "X: \0"s, "X\0: y"s}) {
    all.push_back({"a trailer", chunked("0\r\n" + trailer + "\r\n\r\n")});
  }
  all.push_back({"a long trailer", chunked("0\r\nX: " + std::string(20'000, 'y') + "\r\n\r\n")});
}

void add_heads(std::vector<FramingTrick>& all) {
  const std::vector<std::pair<std::string, std::string>> heads = {
      {"no host", "GET /healthz HTTP/1.1\r\n\r\n"},
      {"an empty host", "GET /healthz HTTP/1.1\r\nHost:\r\n\r\n"},
      {"two hosts", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"},
      {"a host twice", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nhOsT: localhost\r\n\r\n"},
      {"two hosts in one", "GET /healthz HTTP/1.1\r\nHost: localhost, evil.example\r\n\r\n"},
      {"a user in the host", "GET /healthz HTTP/1.1\r\nHost: a@localhost\r\n\r\n"},
      {"a path in the host", "GET /healthz HTTP/1.1\r\nHost: localhost/a\r\n\r\n"},
      {"a port of letters", "GET /healthz HTTP/1.1\r\nHost: localhost:http\r\n\r\n"},
      {"lines of LF", "GET /healthz HTTP/1.1\nHost: localhost\n\n"},
      {"one line of LF", "GET /healthz HTTP/1.1\nHost: localhost\r\n\r\n"},
      {"an end of LF", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\n"},
      {"an end of LF LF", "GET /healthz HTTP/1.1\r\nHost: localhost\n\n"},
      {"an end of CR", "GET /healthz HTTP/1.1\rHost: localhost\r\r"},
      {"a tab", "GET\t/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"two spaces", "GET  /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"a space at the end", "GET /healthz HTTP/1.1 \r\nHost: localhost\r\n\r\n"},
      {"another version", "GET /healthz HTTP/1.2\r\nHost: localhost\r\n\r\n"},
      {"a long version", "GET /healthz HTTP/01.1\r\nHost: localhost\r\n\r\n"},
      {"version 0.9", "GET /healthz\r\n\r\n"},
      {"a fragment", "GET /healthz#a HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"a host in the address", "GET http://localhost/healthz HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"a first line that is a header", "Host: localhost\r\nGET /healthz HTTP/1.1\r\n\r\n"},
      {"a folded first header", "GET /healthz HTTP/1.1\r\n X: y\r\nHost: localhost\r\n\r\n"},
      {"a header without a colon", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX\r\n\r\n"},
      {"a name of Latin-1", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX\xe9: y\r\n\r\n"},
      {"an unknown expectation", post("Expect: 200-ok\r\nContent-Length: 50", "")},
      {"a packed body", post("Content-Encoding: gzip\r\nContent-Length: 50", "")},
      {"a body for no route",
       "POST /none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n"},
      {"chunks for no route",
       "POST /none HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"},
      {"a body that is too large", post("Content-Length: 99999999999", "")},
      {"a body of another site", post("Origin: https://evil.example\r\nContent-Length: 50", "")},
  };
  for (const auto& [name, bytes] : heads) all.push_back({name, bytes});
}

}  // namespace

std::vector<FramingTrick> framing_tricks() {
  std::vector<FramingTrick> all;
  add_lengths(all);
  add_both(all);
  add_chunks(all);
  add_heads(all);
  return all;
}

}  // namespace diml::test
