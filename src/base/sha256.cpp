#include "base/sha256.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/system_error.h"

namespace diml {
namespace {

constexpr std::size_t kBlock = 64;
constexpr std::size_t kRounds = 64;

constexpr std::array<std::uint32_t, kRounds> first_primes() {
  std::array<std::uint32_t, kRounds> primes{};
  std::size_t found = 0;
  for (std::uint32_t candidate = 2; found < kRounds; ++candidate) {
    const bool composite =
        std::any_of(primes.begin(), primes.begin() + found,
                    [candidate](std::uint32_t prime) { return candidate % prime == 0; });
    if (!composite) primes[found++] = candidate;
  }
  return primes;
}

// The first 32 fraction bits of the power-th root of a prime, in integers: exact on every
// compiler. The root times 2^32 is the largest r with r^power <= prime * 2^(32 * power).
constexpr std::uint32_t root_fraction(std::uint32_t prime, int power) {
  // The roots of the first 64 primes are below 32: 37 bits. A cube of 37 bits needs 111, 2^96 times
  // a prime below 512 needs 105.
  using Wide = unsigned __int128;
  const Wide target = static_cast<Wide>(prime) << (32 * power);
  std::uint64_t root = 0;
  for (int bit = 36; bit >= 0; --bit) {
    const std::uint64_t tried = root | std::uint64_t{1} << bit;
    Wide value = tried;
    for (int k = 1; k < power; ++k) value *= tried;
    if (value <= target) root = tried;
  }
  return static_cast<std::uint32_t>(root);
}

constexpr std::array<std::uint32_t, kRounds> round_constants() {
  std::array<std::uint32_t, kRounds> constants = first_primes();
  for (std::uint32_t& constant : constants) constant = root_fraction(constant, 3);
  return constants;
}

constexpr std::array<std::uint32_t, 8> start_state() {
  std::array<std::uint32_t, 8> state{};
  for (std::size_t k = 0; k < state.size(); ++k) state[k] = root_fraction(first_primes()[k], 2);
  return state;
}

constexpr std::array<std::uint32_t, kRounds> kConstants = round_constants();
constexpr std::array<std::uint32_t, 8> kStart = start_state();
static_assert(kConstants.front() == 0x428a2f98u && kConstants.back() == 0xc67178f2u);
static_assert(kStart.front() == 0x6a09e667u && kStart.back() == 0x5be0cd19u);

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return static_cast<std::uint32_t>(bytes[0]) << 24 | static_cast<std::uint32_t>(bytes[1]) << 16 |
         static_cast<std::uint32_t>(bytes[2]) << 8 | bytes[3];
}

}  // namespace

Sha256::Sha256() : state_(kStart) {}

void Sha256::update(std::span<const std::uint8_t> bytes) {
  const std::size_t held = length_ % kBlock;
  length_ += bytes.size();
  if (held > 0) {
    const std::size_t taken = std::min(bytes.size(), kBlock - held);
    std::copy_n(bytes.begin(), taken, waiting_.begin() + static_cast<std::ptrdiff_t>(held));
    bytes = bytes.subspan(taken);
    if (held + taken < kBlock) return;
    take_block(waiting_.data());
  }
  for (; bytes.size() >= kBlock; bytes = bytes.subspan(kBlock)) take_block(bytes.data());
  std::copy(bytes.begin(), bytes.end(), waiting_.begin());
}

std::string Sha256::hex() const {
  // A one bit, zeros, and the length in bits fill the last block; on a copy, so that more bytes may
  // follow.
  Sha256 whole = *this;
  std::vector<std::uint8_t> padding(1 + (kBlock + 55 - length_ % kBlock) % kBlock, 0);
  padding.front() = 0x80;
  for (int shift = 56; shift >= 0; shift -= 8) {
    padding.push_back(static_cast<std::uint8_t>((length_ * 8) >> shift));
  }
  whole.update(padding);
  std::string text;
  for (const std::uint32_t word : whole.state_) {
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[(word >> shift) & 15];
  }
  return text;
}

// The names are the standard's.
void Sha256::take_block(const std::uint8_t* block) {
  std::array<std::uint32_t, kRounds> w{};
  for (std::size_t t = 0; t < 16; ++t) w[t] = big_endian(block + 4 * t);
  for (std::size_t t = 16; t < kRounds; ++t) {
    const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t t = 0; t < kRounds; ++t) {
    const std::uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t choose = (e & f) ^ (~e & g);
    const std::uint32_t t1 = h + sum1 + choose + kConstants[t] + w[t];
    const std::uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + sum0 + majority;
  }
  const std::array<std::uint32_t, 8> added = {a, b, c, d, e, f, g, h};
  for (std::size_t k = 0; k < added.size(); ++k) state_[k] += added[k];
}

std::string sha256_of_file(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::exists(path, unknown) && !std::filesystem::is_regular_file(path, unknown)) {
    throw Error(path + ": is not a regular file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw system_error(path + ": cannot be opened", errno);
  Sha256 hash;
  std::vector<std::uint8_t> part(std::size_t{1} << 20);
  while (file) {
    file.read(reinterpret_cast<char*>(part.data()), static_cast<std::streamsize>(part.size()));
    hash.update({part.data(), static_cast<std::size_t>(file.gcount())});
  }
  if (file.bad()) throw system_error(path + ": cannot be read", errno);
  return hash.hex();
}

}  // namespace diml
