#pragma once

#include <cstddef>
#include <cstdint>

namespace diml {

// splitmix64: the same numbers on every machine and standard library, and cheap enough to start one
// stream per image.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }

  // Sum of four uniforms, mean 0 and variance 1: near enough to normal.
  double normal() {
    const std::uint64_t bits = next();
    double sum = 0.0;
    for (int k = 0; k < 4; ++k) sum += static_cast<double>((bits >> (16 * k)) & 0xffffu) + 0.5;
    return (sum * 0x1p-16 - 2.0) * 1.7320508075688772;
  }

 private:
  std::uint64_t state_;
};

// A seed for the `index`-th element of a sequence, independent of its neighbours'.
inline std::uint64_t mixed_seed(std::uint64_t seed, std::uint64_t kind, std::uint64_t index) {
  Random random(seed ^ (kind * 0xd1342543de82ef95u));
  return random.next() ^ (index * 0x2545f4914f6cdd1du);
}

}  // namespace diml
