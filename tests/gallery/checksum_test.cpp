#include "gallery/checksum.h"

#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace diml::test {
namespace {

using gallery::checksum;

std::vector<std::byte> random_bytes(std::size_t size) {
  std::mt19937 random(4);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(Checksum, EachFlippedBitGivesAnother) {
  for (const std::size_t size : {1u, 7u, 8u, 63u, 64u, 65u, 200u}) {
    std::vector<std::byte> bytes = random_bytes(size);
    std::set<std::uint64_t> sums = {checksum(bytes)};
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
      sums.insert(checksum(bytes));
      bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    }
    EXPECT_EQ(sums.size(), 8 * size + 1);
  }
}

TEST(Checksum, LengthOrderAndSeedCount) {
  const std::vector<std::byte> zeros(300);
  std::set<std::uint64_t> sums;
  for (std::size_t size = 0; size <= zeros.size(); ++size) {
    sums.insert(checksum({zeros.data(), size}));
  }
  EXPECT_EQ(sums.size(), zeros.size() + 1);
  std::vector<std::byte> bytes = random_bytes(256);
  const std::uint64_t before = checksum(bytes);
  std::swap_ranges(bytes.begin(), bytes.begin() + 8, bytes.begin() + 64);
  EXPECT_NE(checksum(bytes), before);
  EXPECT_NE(checksum(bytes, 1), checksum(bytes, 2));
}

// It is stored: another program, or a later one, must compute the same.
TEST(Checksum, StaysAsItIs) {
  std::vector<std::byte> bytes(100);
  for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<std::byte>(k);
  EXPECT_EQ(checksum({}), 408799215700365427u);
  EXPECT_EQ(checksum(bytes), 14190320662894042839u);
  EXPECT_EQ(checksum(bytes, 12345), 15277842441317459935u);
}

}  // namespace
}  // namespace diml::test
