#include "checked.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/input_file.h"
#include "base/npy.h"
#include "diml/error.h"

namespace diml::weights {
namespace {

static_assert(std::endian::native == std::endian::little, "weights on disk are little-endian");

constexpr std::size_t kMostDimensions = 32;
constexpr std::size_t kLongestShown = 80;

}  // namespace

Bytes part(Bytes bytes, std::uint64_t at, std::uint64_t count) {
  if (at > bytes.size() || count > bytes.size() - at) {
    throw Error(ErrorKind::damaged, "ends early: it is truncated or damaged, fetch it again");
  }
  return bytes.subspan(at, count);
}

std::string shown(std::string_view name) {
  std::string text(name.substr(0, kLongestShown));
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return name.size() > kLongestShown ? text + "..." : text;
}

std::size_t bytes_needed(std::span<const std::size_t> shape, TensorType type) {
  if (shape.size() > kMostDimensions) {
    throw Error(ErrorKind::unsupported, "has a tensor of " + std::to_string(shape.size()) +
                                            " dimensions, more than the " +
                                            std::to_string(kMostDimensions) + " that are read");
  }
  // Zeros count as 1: a shape with too large extents is refused even if one extent is 0.
  std::size_t bytes = size_of(type);
  for (const std::size_t extent : shape) {
    const std::size_t factor = std::max<std::size_t>(extent, 1);
    if (bytes > (std::size_t{1} << 48) / factor) {
      throw Error(ErrorKind::damaged,
                  "has a tensor of shape " + shape_text(shape) + ", larger than any memory");
    }
    bytes *= factor;
  }
  return std::find(shape.begin(), shape.end(), 0u) == shape.end() ? bytes : 0;
}

void add(Weights& weights, std::string name, Tensor tensor) {
  if (weights.tensors.contains(name))
    throw Error(ErrorKind::damaged, "has two tensors called " + shown(name));
  weights.tensors.emplace(std::move(name), std::move(tensor));
}

Weights read_with(Weights (*parse)(Bytes), const std::string& path) {
  const std::vector<std::uint8_t> bytes = read_file(path);
  try {
    return parse(bytes);
  } catch (const Error& error) {
    throw with_context(error, path + ": ");
  }
}

}  // namespace diml::weights
