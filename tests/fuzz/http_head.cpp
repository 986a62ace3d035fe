// The head of a request, up to its empty line, and the query string in it.
#include <algorithm>

#include "base/lower_case.h"
#include "fuzz/http_target.h"
#include "server/http_message.h"

namespace {

using namespace diml::server;
using diml::test::expect;

void read(std::span<const std::uint8_t> bytes) {
  const std::string_view all = diml::test::text_of(bytes);
  const std::size_t end = all.find("\r\n\r\n");
  if (end == std::string_view::npos || end > diml::test::fuzz_limits().head) return;
  const std::string_view text = all.substr(0, end + 4);
  RequestParser parser(diml::test::fuzz_limits());
  Head head;
  if (diml::test::status_of_call([&] { head = parser.take_head(text); }) != 200) return;
  // What another reader could understand in a second way is not there.
  expect(!(head.chunked && head.headers.contains("content-length")));
  expect(head.headers.contains("host") || head.version == HttpVersion::http_1_0);
  expect(!head.method.empty() &&
         std::all_of(head.method.begin(), head.method.end(), is_token_character));
  for (const auto& [name, value] : head.headers) {
    expect(!name.empty() && std::all_of(name.begin(), name.end(), is_token_character));
    expect(name == diml::lower_case(name));
    expect(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
  }
  expect(head.target.find_first_of(" \t\r\n") == std::string::npos);
  expect(parser.is_whole() == !head.has_body());
  (void)diml::test::status_of_call([&] { (void)head.query(); });
  // Every prefix of it is refused: a head is never whole before its end.
  RequestParser shorter(diml::test::fuzz_limits());
  expect(diml::test::status_of_call([&] { shorter.take_head(text.substr(0, text.size() - 1)); }) !=
         200);
}

}  // namespace

DIML_FUZZ_TARGET(read)
