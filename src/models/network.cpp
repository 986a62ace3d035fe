#include "diml/network.h"

#include <chrono>

#include "diml/error.h"
#include "diml/random.h"

namespace diml {

Precision precision_from(std::string_view name) {
  if (name == "float32") return Precision::float32;
  if (name == "bfloat16") return Precision::bfloat16;
  throw Error("unknown precision '" + std::string(name) + "': float32 or bfloat16");
}

const char* name_of(Precision precision) {
  return precision == Precision::bfloat16 ? "bfloat16" : "float32";
}

bool Network::same_bits(std::size_t few, std::size_t many, std::size_t /*height*/,
                        std::size_t /*width*/) {
  return few == many;
}

std::unique_ptr<GridMaker> Network::grid_maker(const GridMakerParams& /*params*/) {
  return nullptr;
}

double Network::seconds_of_pass(std::size_t passes, std::size_t batch, std::size_t height,
                                std::size_t width) {
  std::vector<float> pixels(batch * 3 * height * width);
  Random random(1);
  for (float& pixel : pixels) pixel = static_cast<float>(random.normal());
  std::vector<float> maps(batch * output_shape(height, width).count());
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  for (std::size_t pass = 0; pass < passes; ++pass) forward(pixels, batch, height, width, maps);
  return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(passes);
}

}  // namespace diml
