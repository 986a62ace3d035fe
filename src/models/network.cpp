#include "diml/network.h"

#include <vector>

#include "base/random.h"
#include "base/stopwatch.h"

namespace diml {

bool Network::same_bits(std::size_t few, std::size_t many, std::size_t /*height*/,
                        std::size_t /*width*/) {
  return few == many;
}

std::unique_ptr<GridMaker> Network::grid_maker(const Preprocessing& /*preprocessing*/,
                                               const EmbeddingParams& /*params*/) {
  return nullptr;
}

double Network::seconds_of_pass(std::size_t passes, std::size_t batch, std::size_t height,
                                std::size_t width) {
  std::vector<float> pixels(batch * 3 * height * width);
  Random random(1);
  for (float& pixel : pixels) pixel = static_cast<float>(random.normal());
  std::vector<float> maps(batch * output_shape(height, width).count());
  const Stopwatch watch;
  for (std::size_t pass = 0; pass < passes; ++pass) forward(pixels, batch, height, width, maps);
  return watch.seconds() / static_cast<double>(passes);
}

}  // namespace diml
