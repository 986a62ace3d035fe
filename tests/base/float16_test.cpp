#include "base/float16.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace diml {
namespace {

constexpr std::uint32_t kPatterns = 1u << 16;

// A binary format as parameters, so that one slow version in double serves both.
struct Format {
  int fraction_bits;
  int smallest_exponent;  // of the normal numbers
  int largest_exponent;
};
constexpr Format kHalf{10, -14, 15};
constexpr Format kBrain{7, -126, 127};

// Splits sign, exponent and fraction and combines them with ldexp.
double slow_value(std::uint16_t bits, const Format& format) {
  const int fraction = bits & ((1 << format.fraction_bits) - 1);
  const int biased = (bits & 0x7fff) >> format.fraction_bits;
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  const int exponent = std::max(biased, 1) + format.smallest_exponent - 1;
  if (exponent > format.largest_exponent) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  const int whole = biased == 0 ? 0 : 1 << format.fraction_bits;
  return sign * std::ldexp(whole + fraction, exponent - format.fraction_bits);
}

// The nearest multiple of the unit in the last place, ties to even, in double.
double slow_rounding(float value, const Format& format) {
  if (value == 0.0f || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  exponent = std::max(exponent - 1, format.smallest_exponent);
  const double unit = std::ldexp(1.0, exponent - format.fraction_bits);
  const double rounded = std::nearbyint(value / unit) * unit;
  return std::abs(rounded) < std::ldexp(1.0, format.largest_exponent + 1)
             ? rounded
             : std::copysign(std::numeric_limits<double>::infinity(), value);
}

// Equal, with equal signs if both are zero.
bool same(float fast, double slow) {
  return static_cast<double>(fast) == slow && std::signbit(fast) == std::signbit(slow);
}

// Numbers at which rounding can go wrong: each value of the format, the middle to the next one and
// the floats on either side of the middle; and a walk over all floats.
std::vector<float> tricky_numbers(const Format& format) {
  std::vector<float> numbers;
  for (std::uint32_t bits = 0; bits < kPatterns / 2; ++bits) {
    const double value = slow_value(static_cast<std::uint16_t>(bits), format);
    if (!std::isfinite(value)) break;
    const double next = slow_value(static_cast<std::uint16_t>(bits + 1), format);
    const double end = std::ldexp(1.0, format.largest_exponent + 1);
    const float middle = static_cast<float>((value + std::min(next, end)) / 2.0);
    for (const float number : {static_cast<float>(value), middle, std::nextafter(middle, 0.0f),
                               std::nextafter(middle, std::numeric_limits<float>::infinity())}) {
      numbers.push_back(number);
      numbers.push_back(-number);
    }
  }
  constexpr std::uint64_t kStride = 9973;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += kStride) {
    const float number = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (!std::isnan(number)) numbers.push_back(number);
  }
  return numbers;
}

TEST(Float16, EveryPatternHasTheValueOfTheStandard) {
  for (std::uint32_t pattern = 0; pattern < kPatterns; ++pattern) {
    const std::uint16_t bits = static_cast<std::uint16_t>(pattern);
    const double slow = slow_value(bits, kHalf);
    const float fast = to_float(Float16{bits});
    ASSERT_TRUE(std::isnan(slow) ? std::isnan(fast) : same(fast, slow)) << pattern;
  }
}

TEST(Float16, EveryPatternComesBackAsItself) {
  for (std::uint32_t pattern = 0; pattern < kPatterns; ++pattern) {
    const std::uint16_t bits = static_cast<std::uint16_t>(pattern);
    const std::uint16_t back = to_float16(to_float(Float16{bits})).bits;
    if (std::isnan(slow_value(bits, kHalf))) {  // stays a NaN of its sign; the payload is free
      ASSERT_TRUE(std::isnan(slow_value(back, kHalf))) << pattern;
      ASSERT_EQ(back & 0x8000, bits & 0x8000) << pattern;
    } else {
      ASSERT_EQ(back, bits);
    }
  }
}

TEST(Float16, RoundsToTheNearestAndTiesToEven) {
  for (const float number : tricky_numbers(kHalf)) {
    ASSERT_TRUE(same(to_float(to_float16(number)), slow_rounding(number, kHalf)))
        << number << " became " << to_float(to_float16(number));
  }
}

TEST(Float16, BecomesInfiniteFromTheMiddleBeyondTheLargest) {
  EXPECT_EQ(to_float(to_float16(65519.996f)), 65504.0f);
  EXPECT_TRUE(std::isinf(to_float(to_float16(65520.0f))));
  EXPECT_TRUE(std::isinf(to_float(to_float16(-3.4e38f))));
}

TEST(BFloat16, EveryPatternHasTheValueOfItsUpperHalf) {
  for (std::uint32_t pattern = 0; pattern < kPatterns; ++pattern) {
    const std::uint16_t bits = static_cast<std::uint16_t>(pattern);
    const double slow = slow_value(bits, kBrain);
    const float fast = to_float(BFloat16{bits});
    ASSERT_TRUE(std::isnan(slow) ? std::isnan(fast) : same(fast, slow)) << pattern;
  }
}

TEST(BFloat16, EveryPatternComesBackAsItself) {
  for (std::uint32_t pattern = 0; pattern < kPatterns; ++pattern) {
    const std::uint16_t bits = static_cast<std::uint16_t>(pattern);
    const std::uint16_t back = to_bfloat16(to_float(BFloat16{bits})).bits;
    if (std::isnan(slow_value(bits, kBrain))) {
      ASSERT_TRUE(std::isnan(slow_value(back, kBrain))) << pattern;
      ASSERT_EQ(back & 0x8000, bits & 0x8000) << pattern;
    } else {
      ASSERT_EQ(back, bits);
    }
  }
}

TEST(BFloat16, RoundsToTheNearestAndTiesToEven) {
  for (const float number : tricky_numbers(kBrain)) {
    ASSERT_TRUE(same(to_float(to_bfloat16(number)), slow_rounding(number, kBrain)))
        << number << " became " << to_float(to_bfloat16(number));
  }
}

TEST(BFloat16, NansWhosePayloadIsCutOffStayNans) {
  for (const std::uint32_t bits : {0x7f800001u, 0x7f80ffffu, 0xff800001u, 0x7fffffffu}) {
    const float nan = std::bit_cast<float>(bits);
    EXPECT_TRUE(std::isnan(to_float(to_bfloat16(nan)))) << bits;
    EXPECT_TRUE(std::isnan(to_float(to_float16(nan)))) << bits;
  }
}

}  // namespace
}  // namespace diml
