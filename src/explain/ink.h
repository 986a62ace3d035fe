#pragma once

namespace diml::explained {

struct Ink {
  double red = 0.0;
  double green = 0.0;
  double blue = 0.0;
  double alpha = 1.0;
};

constexpr Ink kBlack{0.13, 0.13, 0.15};
constexpr Ink kGrey{0.36, 0.36, 0.40};
constexpr Ink kLight{0.85, 0.85, 0.87};
constexpr Ink kWhite{1.0, 1.0, 1.0};
constexpr Ink kRed{0.80, 0.08, 0.16};
constexpr Ink kBlue{0.10, 0.36, 0.76};

}  // namespace diml::explained
