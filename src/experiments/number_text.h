#pragma once

#include <cmath>
#include <string>
#include <string_view>

namespace diml::experiments {

// Signs of a file format.
struct Signs {
  std::string_view minus;
  std::string_view missing;
  std::string_view plus_minus;
};

constexpr Signs kTextSigns{"\u2212", "\u2013", "\u00B1"};
constexpr Signs kLatexSigns{"$-$", "--", "$\\pm$"};

// Differences are taken of the printed values, so that a reader who subtracts gets the same.
inline long long hundredths(double value) { return std::llround(100.0 * value); }

inline std::string decimal(long long hundredths, std::string_view minus = "-") {
  const long long size = std::llabs(hundredths);
  std::string text(hundredths < 0 ? minus : "");
  text += std::to_string(size / 100);
  text += size % 100 < 10 ? ".0" : ".";
  text += std::to_string(size % 100);
  return text;
}

// With a plus before positive values.
inline std::string signed_decimal(long long hundredths, std::string_view minus = "-") {
  std::string text(hundredths > 0 ? "+" : "");
  text += decimal(hundredths, minus);
  return text;
}

}  // namespace diml::experiments
