#pragma once

#include "ink.h"

namespace diml::explained {

// The colour map of figures: dark violet, blue, green, pale yellow. Value from 0 to 1, clamped.
// Equal steps of the value look equally large (in Oklab), and each is lighter than the one before:
// the order survives print in grey, and most colour blindness.
Ink heat_colour(double value);

// A colour in Oklab, a space in which equal distances look about equal (B. Ottosson, 2020).
struct Oklab {
  double lightness = 0.0;
  double a = 0.0;
  double b = 0.0;
};

Oklab oklab_of(const Ink& ink);  // of sRGB
Ink ink_of(const Oklab& colour);

}  // namespace diml::explained
