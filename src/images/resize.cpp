#include <algorithm>
#include <cmath>
#include <string>

#include "diml/error.h"
#include "diml/image.h"

namespace diml {
namespace {

// 8-bit pixels times fixed-point weights: the same numbers as Pillow's, on every machine.
constexpr int kWeightBits = 22;

// Results `first` to `first + count` of `whole`, along one side.
struct Part {
  std::size_t whole = 0;
  std::size_t first = 0;
  std::size_t count = 0;
};

// The source pixels of a result pixel: `count` of them from `first` on.
struct Taps {
  std::size_t most = 0;
  std::vector<std::size_t> first;
  std::vector<std::size_t> count;
  std::vector<std::int32_t> weights;  // [results, most]
};

// What a source pixel counts at this distance from the middle of a result pixel.
double weight_at(double distance, Interpolation interpolation) {
  if (interpolation == Interpolation::bilinear) return std::max(0.0, 1.0 - distance);
  constexpr double kA = -0.5;
  if (distance < 1.0) return ((kA + 2.0) * distance - (kA + 3.0)) * distance * distance + 1.0;
  if (distance < 2.0) return (((distance - 5.0) * distance + 8.0) * distance - 4.0) * kA;
  return 0.0;
}

// Halves away from 0, as Pillow rounds.
std::int32_t fixed_point(double weight) {
  const double scaled = weight * (1 << kWeightBits);
  return static_cast<std::int32_t>(scaled < 0.0 ? scaled - 0.5 : scaled + 0.5);
}

// A curve as wide as source pixels or result pixels, whichever are wider; in the second case it is
// a low-pass filter.
Taps taps_of(std::size_t from, const Part& to, Interpolation interpolation) {
  const double scale = static_cast<double>(from) / static_cast<double>(to.whole);
  const double pixel = std::max(scale, 1.0);
  const double support = interpolation == Interpolation::bicubic ? 2.0 * pixel : pixel;
  Taps taps;
  taps.most = static_cast<std::size_t>(std::ceil(support)) * 2 + 1;
  taps.weights.resize(to.count * taps.most);
  std::vector<double> weights(taps.most);
  for (std::size_t k = 0; k < to.count; ++k) {
    const double centre = (static_cast<double>(to.first + k) + 0.5) * scale;
    const double low = std::floor(centre - support + 0.5);
    const double high = std::floor(centre + support + 0.5);
    const std::size_t first = static_cast<std::size_t>(std::max(low, 0.0));
    const std::size_t last = std::min(static_cast<std::size_t>(std::max(high, 0.0)), from);
    double sum = 0.0;
    for (std::size_t i = first; i < last; ++i) {
      const double distance = std::abs((static_cast<double>(i) - centre + 0.5) / pixel);
      weights[i - first] = weight_at(distance, interpolation);
      sum += weights[i - first];
    }
    for (std::size_t i = 0; i < last - first; ++i) {
      taps.weights[k * taps.most + i] = fixed_point(weights[i] / sum);
    }
    taps.first.push_back(first);
    taps.count.push_back(last - first);
  }
  return taps;
}

std::uint8_t to_pixel(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

// Rows of an image with their width changed, made when they are asked for. The last ones are kept:
// all that a row of the result needs, or as many as kKeptBytes have room for. Whatever the image's
// proportions, the rows between the two passes take no more.
class NarrowedRows {
 public:
  NarrowedRows(const Image& image, const Part& across, std::size_t wanted,
               Interpolation interpolation)
      : image_(image) {
    unchanged_ = image.width == across.whole;
    first_ = across.first;
    row_ = across.count * 3;
    if (unchanged_) return;
    taps_ = taps_of(image.width, across, interpolation);
    kept_.resize(std::clamp<std::size_t>(kKeptBytes / row_, 3, std::max<std::size_t>(wanted, 3)));
    for (Kept& kept : kept_) kept.pixels.resize(row_);
  }

  // [part's count, 3]. Good until the next row is asked for.
  const std::uint8_t* row(std::size_t y) {
    if (unchanged_) return image_.at(first_, y);
    Kept& kept = kept_[y % kept_.size()];
    if (kept.y != y) narrow(y, kept);
    return kept.pixels.data();
  }

 private:
  static constexpr std::size_t kKeptBytes = std::size_t{32} << 20;
  static constexpr std::size_t kNone = ~std::size_t{0};

  struct Kept {
    std::size_t y = kNone;
    std::vector<std::uint8_t> pixels;
  };

  void narrow(std::size_t y, Kept& kept) {
    std::uint8_t* to = kept.pixels.data();
    for (std::size_t x = 0; x < taps_.first.size(); ++x, to += 3) {
      std::int32_t sums[3] = {kHalf, kHalf, kHalf};
      const std::uint8_t* from = image_.at(taps_.first[x], y);
      for (std::size_t k = 0; k < taps_.count[x]; ++k) {
        const std::int32_t weight = taps_.weights[x * taps_.most + k];
        for (std::size_t c = 0; c < 3; ++c) sums[c] += from[3 * k + c] * weight;
      }
      for (std::size_t c = 0; c < 3; ++c) to[c] = to_pixel(sums[c]);
    }
    kept.y = y;
  }

  const Image& image_;
  bool unchanged_ = false;
  std::size_t first_ = 0;
  std::size_t row_ = 0;
  Taps taps_{};
  std::vector<Kept> kept_{};
};

// A part of the image that resize() to across.whole x down.whole makes.
Image resize_part(const Image& image, const Part& across, const Part& down,
                  Interpolation interpolation) {
  const std::size_t row = across.count * 3;
  Image result{across.count, down.count, std::vector<std::uint8_t>(row * down.count)};
  if (image.height == down.whole) {
    NarrowedRows rows(image, across, 1, interpolation);
    for (std::size_t y = 0; y < down.count; ++y)
      std::copy_n(rows.row(down.first + y), row, result.at(0, y));
    return result;
  }
  const Taps taps = taps_of(image.height, down, interpolation);
  NarrowedRows rows(image, across, taps.most, interpolation);
  std::vector<std::int32_t> sums(row);
  for (std::size_t y = 0; y < down.count; ++y) {
    std::fill(sums.begin(), sums.end(), kHalf);
    for (std::size_t k = 0; k < taps.count[y]; ++k) {
      const std::int32_t weight = taps.weights[y * taps.most + k];
      const std::uint8_t* from = rows.row(taps.first[y] + k);
      for (std::size_t i = 0; i < row; ++i) sums[i] += from[i] * weight;
    }
    std::transform(sums.begin(), sums.end(), result.at(0, y), to_pixel);
  }
  return result;
}

struct Size {
  std::size_t width = 0;
  std::size_t height = 0;
};

Size with_short_side(const Image& image, std::size_t size) {
  if (image.width == 0 || image.height == 0 || image.pixels.empty())
    throw Error("an image without pixels cannot be resized");
  if (image.width <= image.height) return {size, size * image.height / image.width};
  return {size * image.width / image.height, size};
}

std::string text_of(const Size& size) {
  return std::to_string(size.width) + " x " + std::to_string(size.height);
}

// Half a pixel is rounded to even, as in Python.
std::size_t margin(std::size_t extent, std::size_t size) {
  const std::size_t twice = extent - size;
  return twice % 4 == 3 ? twice / 2 + 1 : twice / 2;
}

void expect_middle(const Size& of, std::size_t size) {
  if (of.width < size || of.height < size) {
    throw Error("an image of " + text_of(of) + " has no middle of " + text_of({size, size}) +
                ": resize it first");
  }
}

}  // namespace

Image resize(const Image& image, std::size_t width, std::size_t height,
             Interpolation interpolation) {
  if (width == 0 || height == 0 || image.pixels.empty()) {
    throw Error("an image cannot be resized to or from no pixels");
  }
  return resize_part(image, {width, 0, width}, {height, 0, height}, interpolation);
}

Image resize_short_side(const Image& image, std::size_t size, Interpolation interpolation) {
  const Size to = with_short_side(image, size);
  // Before anything is allocated: a line of pixels becomes as many squares.
  if (to.width > 0 && to.height > DecodeParams{}.most_pixels / to.width) {
    throw Error(ErrorKind::out_of_resources,
                "an image of " + text_of({image.width, image.height}) +
                    " resized to a short side of " + std::to_string(size) + " has " + text_of(to) +
                    " pixels, more than the " + std::to_string(DecodeParams{}.most_pixels) +
                    " allowed: crop it first");
  }
  return resize(image, to.width, to.height, interpolation);
}

Image centre_crop(const Image& image, std::size_t size) {
  expect_middle({image.width, image.height}, size);
  return crop(image, margin(image.width, size), margin(image.height, size), size, size);
}

Image resize_and_centre_crop(const Image& image, std::size_t short_side, std::size_t size,
                             Interpolation interpolation) {
  const Size to = with_short_side(image, short_side);
  expect_middle(to, size);
  if (size == 0) throw Error("a crop must have pixels");
  return resize_part(image, {to.width, margin(to.width, size), size},
                     {to.height, margin(to.height, size), size}, interpolation);
}

}  // namespace diml
