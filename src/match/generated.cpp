#include "diml/generated.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "base/threads.h"
#include "diml/error.h"

namespace diml {
namespace {

// How the creatures are made. Chosen so that the grids are similar to those of photographs:
// similarities from -0.3 to 0.95 and two to three dozen plain Sinkhorn iterations.
constexpr std::size_t kParts = 7;
constexpr double kClassDifference = 0.55;  // of a part's look, against what all classes share
constexpr double kReach = 0.16;            // of a part, in widths of the image
constexpr double kShift = 0.22;            // of the whole creature
constexpr double kArticulation = 0.07;     // of one part
constexpr double kBackground = 0.5;
constexpr double kNoise = 0.45;

std::vector<float> unit_vectors(std::size_t count, std::size_t dim, std::uint64_t seed) {
  std::vector<float> vectors(count * dim);
  Random random(seed);
  const double scale = 1.0 / std::sqrt(static_cast<double>(dim));
  for (float& value : vectors) value = static_cast<float>(random.normal() * scale);
  return vectors;
}

struct Position {
  double x;
  double y;
};

}  // namespace

GeneratedGrids generate_grids(const GeneratedParams& params, const Progress& progress) {
  if (params.classes < 1 || params.classes > params.size) {
    throw Error("generated grids need 1 to " + std::to_string(params.size) + " classes");
  }
  if (!std::isfinite(params.common) || params.common < 0.0) {
    throw Error("the length of the direction that generated cells share must be 0 or more");
  }
  if (params.grid > kMostCells)
    check_grid_shape(params.grid, params.dim);  // before its square can wrap
  const std::size_t dim = params.dim;
  const std::size_t side = params.grid;
  GeneratedGrids generated{GridSet(params.size, side * side, dim, params.type),
                           std::vector<std::int64_t>(params.size)};
  const std::vector<float> kinds = unit_vectors(kParts, dim, mixed_seed(params.seed, 1, 0));
  const std::vector<float> looks =
      unit_vectors(params.classes * kParts, dim, mixed_seed(params.seed, 2, 0));
  std::vector<float> common = unit_vectors(1, dim, mixed_seed(params.seed, 5, 0));
  for (float& value : common) value *= static_cast<float>(params.common);
  Random layout(mixed_seed(params.seed, 3, 0));
  std::vector<Position> home(kParts);
  for (Position& position : home) {
    position = {0.2 + 0.6 * layout.uniform(), 0.2 + 0.6 * layout.uniform()};
  }

  const auto draw = [&](std::size_t begin, std::size_t end) {
    std::vector<float> cells(side * side * dim);
    for (std::size_t image = begin; image < end; ++image) {
      const std::size_t label = image * params.classes / params.size;
      generated.labels[image] = static_cast<std::int64_t>(label);
      Random random(mixed_seed(params.seed, 4, image));
      const Position shift{kShift * random.normal(), kShift * random.normal()};
      const bool mirrored = random.uniform() < 0.5;
      const std::vector<float> scene = unit_vectors(1, dim, random.next());
      const double noise = kNoise / std::sqrt(static_cast<double>(dim));
      for (std::size_t i = 0; i < side * side; ++i) {
        for (std::size_t d = 0; d < dim; ++d) {
          cells[i * dim + d] =
              static_cast<float>(kBackground * scene[d] + noise * random.normal()) + common[d];
        }
      }
      for (std::size_t part = 0; part < kParts; ++part) {
        const double x = mirrored ? 1.0 - home[part].x : home[part].x;
        const Position at{x + shift.x + kArticulation * random.normal(),
                          home[part].y + shift.y + kArticulation * random.normal()};
        for (std::size_t i = 0; i < side * side; ++i) {
          const std::size_t row = i / side;
          const std::size_t column = i % side;
          const double dx = (static_cast<double>(column) + 0.5) / static_cast<double>(side) - at.x;
          const double dy = (static_cast<double>(row) + 0.5) / static_cast<double>(side) - at.y;
          const double weight = std::exp(-(dx * dx + dy * dy) / (2.0 * kReach * kReach));
          if (weight < 1e-3) continue;
          const float* kind = &kinds[part * dim];
          const float* look = &looks[(label * kParts + part) * dim];
          for (std::size_t d = 0; d < dim; ++d) {
            cells[i * dim + d] +=
                static_cast<float>(weight * (kind[d] + kClassDifference * look[d]));
          }
        }
      }
      generated.grids.set(image, cells);
    }
  };
  // In stretches, so that the progress is told from this thread.
  const std::size_t stretch = std::max<std::size_t>(params.size / 100, 1024);
  for (std::size_t first = 0; first < params.size; first += stretch) {
    const std::size_t count = std::min(stretch, params.size - first);
    parallel_for(count, 64, 0,
                 [&](std::size_t begin, std::size_t end) { draw(first + begin, first + end); });
    progress(first + count, params.size);
  }
  return generated;
}

}  // namespace diml
