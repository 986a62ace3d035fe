#include "checksum.h"

#include <array>
#include <bit>
#include <cstring>

namespace diml::gallery {
namespace {

constexpr std::size_t kLanes = 8;  // independent of each other, so that the processor overlaps them
constexpr std::size_t kWord = sizeof(std::uint64_t);
// Odd, with bits that look random: the fractions of square roots of primes.
constexpr std::array<std::uint64_t, kLanes> kStarts = {
    0x6A09E667F3BCC909, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
    0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179};

// Each of its steps can be undone, so that no two words, and no two lanes, lead to the same result.
// The word is multiplied first: so a flipped bit changes many bits of the lane, and no few bits of
// the next word take that back.
std::uint64_t taken_in(std::uint64_t lane, std::uint64_t word) {
  return std::rotl(lane + word * kStarts[5], 31) * kStarts[1];
}

std::uint64_t mixed(std::uint64_t sum) {
  sum = (sum ^ (sum >> 32)) * kStarts[3];
  sum = (sum ^ (sum >> 29)) * kStarts[4];
  return sum ^ (sum >> 32);
}

std::uint64_t word_at(const std::byte* bytes, std::size_t size = kWord) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, size);
  return word;
}

}  // namespace

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed) {
  std::array<std::uint64_t, kLanes> lanes = kStarts;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kLanes * kWord; left -= kLanes * kWord, at += kLanes * kWord) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = taken_in(lanes[lane], word_at(at + lane * kWord));
    }
  }
  for (std::size_t lane = 0; left > 0; ++lane) {
    const std::size_t some = left < kWord ? left : kWord;
    lanes[lane] = taken_in(lanes[lane], word_at(at, some));
    at += some;
    left -= some;
  }
  std::uint64_t sum = bytes.size() * kStarts[0];
  for (std::size_t lane = 0; lane < kLanes; ++lane) sum += mixed(lanes[lane]) * kStarts[lane];
  return mixed(mixed(sum) ^ (seed * kStarts[7]));
}

}  // namespace diml::gallery
