// A form: its boundary in the first line, its body behind it.
#include <algorithm>

#include "fuzz/http_target.h"
#include "server/multipart.h"

namespace {

using namespace diml::server;
using diml::test::expect;

void read(std::span<const std::uint8_t> bytes) {
  const std::string_view all = diml::test::text_of(bytes);
  const std::size_t line = std::min(all.find('\n'), all.size());
  const std::string type = "multipart/form-data; boundary=" + std::string(all.substr(0, line));
  const std::string_view body = all.substr(std::min(line + 1, all.size()));
  (void)diml::test::status_of_call([&] {
    const std::vector<FormPart> parts = parse_form(type, body);
    expect(parts.size() <= kMostParts);
    const char* last = body.data();
    for (const FormPart& part : parts) {
      expect(!part.name.empty());
      // One behind the other, within the body.
      expect(part.bytes.data() >= last &&
             part.bytes.data() + part.bytes.size() <= body.data() + body.size());
      last = part.bytes.data() + part.bytes.size();
    }
  });
}

}  // namespace

DIML_FUZZ_TARGET(read)
