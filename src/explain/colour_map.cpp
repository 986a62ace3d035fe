#include "colour_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace diml::explained {
namespace {

double linear_of(double value) {
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

double srgb_of(double value) {
  return value <= 0.0031308 ? 12.92 * value : 1.055 * std::pow(value, 1.0 / 2.4) - 0.055;
}

bool is_srgb(const Ink& ink) {
  const auto inside = [](double value) { return value >= 0.0 && value <= 1.0; };
  return inside(ink.red) && inside(ink.green) && inside(ink.blue);
}

// Colours of the map before they are spaced evenly, place from 0 to 1: lightness rises evenly while
// the hue turns from violet over blue and green to yellow.
Oklab colour_at(double place, double chroma) {
  constexpr double kDark = 0.24;
  constexpr double kBright = 0.93;
  constexpr double kViolet = 305.0;  // degrees of hue
  constexpr double kYellow = 104.0;
  const double lightness = std::lerp(kDark, kBright, place);
  const double hue = std::lerp(kViolet, kYellow, place) * std::numbers::pi / 180.0;
  return {lightness, chroma * std::cos(hue), chroma * std::sin(hue)};
}

// As colourful as sRGB allows there, with a little room.
double most_chroma(double place) {
  constexpr double kMostChroma = 0.155;
  constexpr double kRoom = 0.92;
  double low = 0.0;
  double high = kMostChroma / kRoom;
  if (is_srgb(ink_of(colour_at(place, high)))) return kMostChroma;
  for (int k = 0; k < 40; ++k) {
    const double middle = (low + high) / 2.0;
    (is_srgb(ink_of(colour_at(place, middle))) ? low : high) = middle;
  }
  return kRoom * low;
}

constexpr std::size_t kFine = 4096;
using Chromas = std::array<double, kFine + 1>;

// The mean of the neighbours: a kink of the path would make a step over it look shorter.
Chromas smoothed(const Chromas& chromas) {
  constexpr std::size_t kReach = kFine / 64;
  Chromas smooth{};
  for (std::size_t k = 0; k <= kFine; ++k) {
    const std::size_t first = k < kReach ? 0 : k - kReach;
    const std::size_t last = std::min(kFine, k + kReach);
    for (std::size_t j = first; j <= last; ++j) smooth[k] += chromas[j];
    smooth[k] /= static_cast<double>(last - first + 1);
  }
  return smooth;
}

// The path of the map, finely.
std::array<Oklab, kFine + 1> path() {
  Chromas chromas{};
  for (std::size_t k = 0; k <= kFine; ++k) {
    chromas[k] = most_chroma(static_cast<double>(k) / kFine);
  }
  chromas = smoothed(smoothed(chromas));
  std::array<Oklab, kFine + 1> colours{};
  for (std::size_t k = 0; k <= kFine; ++k) {
    colours[k] = colour_at(static_cast<double>(k) / kFine, chromas[k]);
  }
  return colours;
}

double distance(const Oklab& x, const Oklab& y) {
  return std::hypot(x.lightness - y.lightness, x.a - y.a, x.b - y.b);
}

constexpr std::size_t kColours = 257;

// Colours at equal distances along the path.
std::array<Ink, kColours> even_steps() {
  const std::array<Oklab, kFine + 1> fine = path();
  std::array<double, kFine + 1> length{};
  for (std::size_t k = 1; k <= kFine; ++k) {
    length[k] = length[k - 1] + distance(fine[k - 1], fine[k]);
  }
  std::array<Ink, kColours> colours;
  std::size_t at = 0;
  for (std::size_t c = 0; c < kColours; ++c) {
    const double wanted = length[kFine] * static_cast<double>(c) / (kColours - 1);
    while (at + 2 < length.size() && length[at + 1] < wanted) ++at;
    const double part = (wanted - length[at]) / (length[at + 1] - length[at]);
    const Oklab& low = fine[at];
    const Oklab& high = fine[at + 1];
    colours[c] = ink_of({std::lerp(low.lightness, high.lightness, part),
                         std::lerp(low.a, high.a, part), std::lerp(low.b, high.b, part)});
  }
  return colours;
}

}  // namespace

Oklab oklab_of(const Ink& ink) {
  const double red = linear_of(ink.red);
  const double green = linear_of(ink.green);
  const double blue = linear_of(ink.blue);
  const double l = std::cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
  const double m = std::cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
  const double s = std::cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
  return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
          1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
          0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

Ink ink_of(const Oklab& colour) {
  const auto cube = [](double value) { return value * value * value; };
  const double l = cube(colour.lightness + 0.3963377774 * colour.a + 0.2158037573 * colour.b);
  const double m = cube(colour.lightness - 0.1055613458 * colour.a - 0.0638541728 * colour.b);
  const double s = cube(colour.lightness - 0.0894841775 * colour.a - 1.2914855480 * colour.b);
  return {srgb_of(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          srgb_of(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          srgb_of(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

Ink heat_colour(double value) {
  static const std::array<Ink, kColours> colours = even_steps();
  const double place = std::clamp(value, 0.0, 1.0) * (kColours - 1);
  const std::size_t low = std::min(static_cast<std::size_t>(place), kColours - 2);
  const double part = place - static_cast<double>(low);
  const Ink& from = colours[low];
  const Ink& to = colours[low + 1];
  return {std::lerp(from.red, to.red, part), std::lerp(from.green, to.green, part),
          std::lerp(from.blue, to.blue, part)};
}

}  // namespace diml::explained
