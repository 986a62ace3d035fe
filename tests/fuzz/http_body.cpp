// A body in chunks. It means the same however it is cut into packets: the first byte says how.
#include <optional>

#include "fuzz/http_target.h"
#include "server/chunks.h"

namespace {

using namespace diml::server;
using diml::test::expect;

struct Outcome {
  int status = 200;
  std::string body;
  std::size_t consumed = 0;
  bool whole = false;
  bool operator==(const Outcome&) const = default;
};

// step(): bytes of the next packet.
template <class Step>
Outcome outcome_of(std::string_view bytes, Step step) {
  Outcome outcome;
  ChunkReader reader(diml::test::fuzz_limits());
  outcome.status = diml::test::status_of_call([&] {
    while (!bytes.empty() && !reader.is_whole()) {
      const std::string_view packet = bytes.substr(0, step());
      const std::size_t taken = reader.take(packet, outcome.body);
      expect(taken <= packet.size() && (taken == packet.size() || reader.is_whole()));
      outcome.consumed += taken;
      bytes.remove_prefix(taken);
    }
  });
  outcome.whole = reader.is_whole();
  expect(outcome.body.size() <= diml::test::fuzz_limits().body);
  expect(!(outcome.whole && outcome.status != 200));
  if (outcome.status != 200) return {outcome.status, "", 0, false};
  return outcome;
}

void read(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return;
  const std::string_view text = diml::test::text_of(bytes.subspan(1));
  const Outcome whole = outcome_of(text, [&] { return text.size(); });
  expect(outcome_of(text, [] { return std::size_t{1}; }) == whole);
  std::uint32_t seed = bytes.front();
  const auto some = [&] {
    seed = seed * 1664525 + 1013904223;
    return std::size_t{1} + (seed >> 24) % 16;
  };
  expect(outcome_of(text, some) == whole);
}

}  // namespace

DIML_FUZZ_TARGET(read)
