#include "host_grid_maker.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/threads.h"
#include "diml/error.h"
#include "models/grid_pooling.h"
#include "models/no_numbers.h"

namespace diml {
namespace {

// Images that are decoded between two runs of the network: enough that no core is idle for long at
// the end of a chunk.
constexpr std::size_t kStretch = 32;

void normalise(std::span<float> vector) {
  double sum = 0.0;
  for (const float v : vector) sum += static_cast<double>(v) * v;
  if (!std::isfinite(sum)) throw Error(kNoNumbers);
  if (sum == 0.0) return;
  const auto scale = static_cast<float>(1.0 / std::sqrt(sum));
  for (float& v : vector) v *= scale;
}

// One slot: all cores decode, then all cores run the network, so that neither waits for the other.
class HostGridMaker final : public GridMaker {
 public:
  HostGridMaker(Network& network, const Preprocessing& preprocessing, const EmbeddingParams& params)
      : network_(network),
        preprocessing_(preprocessing),
        params_(params),
        size_(preprocessing.crop),
        shape_(network.output_shape(size_, size_)),
        planes_(images() * of_image()),
        pixels_(params.batch * of_image()),
        maps_(params.batch * shape_.count()) {}

  std::size_t slots() const override { return 1; }
  std::size_t images() const override { return std::max(kStretch, params_.batch); }
  std::span<std::uint8_t> planes(std::size_t /*slot*/) override { return planes_; }

  void begin(std::size_t /*slot*/, std::size_t used) override { used_ = used; }

  void finish(std::size_t /*slot*/, std::span<float> cells, std::span<float> globals) override {
    for (std::size_t first = 0; first < used_;) {
      const std::size_t places = batch_for(used_ - first);
      const std::size_t count = std::min(places, used_ - first);
      parallel_for(count, 1, params_.threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) scale(first + i, i);
      });
      // A batch that is not full is filled up with grey.
      const std::span pixels = std::span(pixels_).first(places * of_image());
      std::fill(pixels.begin() + static_cast<std::ptrdiff_t>(count * of_image()), pixels.end(),
                0.0F);
      network_.forward(pixels, places, size_, size_,
                       std::span(maps_).first(places * shape_.count()));
      parallel_for(count, 1, params_.threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          pool(i, cells.subspan((first + i) * of_grid(), of_grid()),
               globals.subspan((first + i) * shape_.channels, shape_.channels));
        }
      });
      first += count;
    }
  }

 private:
  std::size_t of_image() const { return 3 * size_ * size_; }
  std::size_t of_grid() const { return params_.grid * params_.grid * shape_.channels; }

  // Images behind the last full batch run in batches of powers of two, which a network prepares
  // once; only where a grid has the same bits in them.
  std::size_t batch_for(std::size_t left) const {
    if (left >= params_.batch) return params_.batch;
    const std::size_t few = std::bit_floor(left);
    return network_.same_bits(few, params_.batch, size_, size_) ? few : params_.batch;
  }

  void scale(std::size_t image, std::size_t place) {
    for (std::size_t c = 0; c < 3; ++c) {
      const float mean = preprocessing_.mean[c];
      const float factor = 1.0F / preprocessing_.deviation[c];
      const std::uint8_t* from = &planes_[image * of_image() + c * size_ * size_];
      float* to = &pixels_[place * of_image() + c * size_ * size_];
      for (std::size_t p = 0; p < size_ * size_; ++p) {
        to[p] = (static_cast<float>(from[p]) - mean) * factor;
      }
    }
  }

  void pool(std::size_t place, std::span<float> grid, std::span<float> global) const {
    const std::size_t dim = shape_.channels;
    const std::span<const float> map(&maps_[place * shape_.count()], shape_.count());
    pool_map(map, shape_.height, shape_.width, dim, params_.grid, params_.pooling, grid);
    for (std::size_t c = 0; c < params_.grid * params_.grid; ++c) {
      normalise(grid.subspan(c * dim, dim));
    }
    const std::size_t places = shape_.height * shape_.width;
    if (shape_.own_global) {
      std::copy_n(&map[places * dim], dim, global.begin());
    } else {
      std::fill(global.begin(), global.end(), 0.0F);
      for (std::size_t p = 0; p < places; ++p) {
        for (std::size_t d = 0; d < dim; ++d) global[d] += map[p * dim + d];
      }
    }
    normalise(global);  // of the sum or of the mean: the same
  }

  Network& network_;
  Preprocessing preprocessing_;
  EmbeddingParams params_;
  std::size_t size_;
  MapShape shape_;
  std::vector<std::uint8_t> planes_;
  std::vector<float> pixels_;
  std::vector<float> maps_;
  std::size_t used_ = 0;
};

}  // namespace

std::unique_ptr<GridMaker> make_host_grid_maker(Network& network,
                                                const Preprocessing& preprocessing,
                                                const EmbeddingParams& params) {
  return std::make_unique<HostGridMaker>(network, preprocessing, params);
}

}  // namespace diml
