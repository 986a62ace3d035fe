#pragma once

#include <cmath>
#include <cstdio>
#include <string>

#include "diml/explain.h"

namespace diml::explained {

inline std::string number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Three significant digits; two decimals if that is enough.
inline std::string short_number(double value) {
  const double size = std::abs(value);
  return number(size < 9.995 ? "%.2f" : size < 99.95 ? "%.1f" : "%.0f", value);
}

inline std::string percent(double share) { return number("%.1f %%", 100.0 * share); }

// [That_ij] x [S_ij], as in the paper's figures.
inline std::string formula(const PartPair& pair) {
  std::string text = "[";
  text += short_number(pair.amplified);
  text += "] \u00d7 [";
  text += number("%.2f", pair.similarity);
  text += "]";
  return text;
}

}  // namespace diml::explained
