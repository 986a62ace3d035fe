#include "diml/embedder.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "diml/error.h"
#include "diml/grid.h"
#include "diml/input_file.h"

namespace diml {
namespace {

// Images that are decoded between two runs of the network: enough that no core is idle for long at
// the end of a stretch.
constexpr std::size_t kStretch = 32;

void normalise(std::span<float> vector) {
  double sum = 0.0;
  for (const float v : vector) sum += static_cast<double>(v) * v;
  if (!std::isfinite(sum)) {
    throw Error(
        "the network gives NaN or infinity: its weights are damaged, or the precision is too "
        "coarse for them");
  }
  if (sum == 0.0) return;
  const auto scale = static_cast<float>(1.0 / std::sqrt(sum));
  for (float& v : vector) v *= scale;
}

}  // namespace

void preprocess(const Image& image, const Preprocessing& preprocessing, std::span<float> pixels) {
  const std::size_t size = preprocessing.crop;
  const Image crop = centre_crop(resize_short_side(image, preprocessing.resize), size);
  for (std::size_t c = 0; c < 3; ++c) {
    const std::size_t channel = preprocessing.channels == ChannelOrder::bgr ? 2 - c : c;
    const float mean = preprocessing.mean[c];
    const float scale = 1.0F / preprocessing.deviation[c];
    float* plane = &pixels[c * size * size];
    for (std::size_t p = 0; p < size * size; ++p) {
      plane[p] = (static_cast<float>(crop.pixels[3 * p + channel]) - mean) * scale;
    }
  }
}

Embedder::Embedder(std::unique_ptr<Network> network, Preprocessing preprocessing,
                   EmbedderParams params)
    : network_(std::move(network)),
      preprocessing_(preprocessing),
      params_(params),
      shape_(network_->output_shape(preprocessing.crop, preprocessing.crop)) {
  check(preprocessing_);
  if (params_.batch == 0) throw Error("a batch needs at least one image");
  check_grid_shape(cells_per_grid(), dim());
}

void Embedder::embed_pixels(std::span<const float> pixels, std::size_t count, float* cells,
                            float* globals) {
  const std::size_t size = preprocessing_.crop;
  const std::size_t of_image = 3 * size * size;
  const std::size_t of_grid = cells_per_grid() * dim();
  const std::size_t places = shape_.height * shape_.width;
  std::vector<float> maps(params_.batch * shape_.count());
  std::vector<float> last;  // a batch that is not full, filled up with black
  for (std::size_t first = 0; first < count; first += params_.batch) {
    const std::size_t used = std::min(params_.batch, count - first);
    std::span<const float> batch = pixels.subspan(first * of_image, used * of_image);
    if (used < params_.batch) {
      last.assign(batch.begin(), batch.end());
      last.resize(params_.batch * of_image, 0.0F);
      batch = last;
    }
    network_->forward(batch, params_.batch, size, size, maps);
    parallel_for(used, 1, params_.threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::span<const float> map(&maps[i * shape_.count()], shape_.count());
        const std::span<float> grid(cells + (first + i) * of_grid, of_grid);
        pool_map(map, shape_.height, shape_.width, dim(), params_.grid, params_.pooling, grid);
        for (std::size_t c = 0; c < cells_per_grid(); ++c)
          normalise(grid.subspan(c * dim(), dim()));
        const std::span<float> global(globals + (first + i) * dim(), dim());
        std::fill(global.begin(), global.end(), 0.0F);
        for (std::size_t p = 0; p < places; ++p) {
          for (std::size_t d = 0; d < dim(); ++d) global[d] += map[p * dim() + d];
        }
        normalise(global);  // of the sum or of the mean: the same
      }
    });
  }
}

void Embedder::embed(std::span<const Image> images, std::span<float> cells,
                     std::span<float> globals) {
  const std::size_t of_image = 3 * preprocessing_.crop * preprocessing_.crop;
  if (cells.size() != images.size() * cells_per_grid() * dim() ||
      globals.size() != images.size() * dim()) {
    throw Error("the embedder was given arrays of the wrong size");
  }
  for (std::size_t first = 0; first < images.size(); first += kStretch) {
    const std::size_t count = std::min(kStretch, images.size() - first);
    std::vector<float> pixels(count * of_image);
    parallel_for(count, 1, params_.threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        preprocess(images[first + i], preprocessing_,
                   std::span(pixels).subspan(i * of_image, of_image));
      }
    });
    embed_pixels(pixels, count, &cells[first * cells_per_grid() * dim()], &globals[first * dim()]);
  }
}

void Embedder::embed_files(std::span<const std::string> paths, Orientation orientation,
                           BadImages bad, const std::function<bool(const EmbeddedBatch&)>& sink) {
  const std::size_t of_image = 3 * preprocessing_.crop * preprocessing_.crop;
  const std::size_t stretch = std::max(kStretch, params_.batch);
  std::vector<float> pixels;
  for (std::size_t first = 0; first < paths.size(); first += stretch) {
    const std::size_t count = std::min(stretch, paths.size() - first);
    pixels.resize(count * of_image);
    std::vector<std::optional<std::string>> failures(count);
    parallel_for(count, 1, params_.threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        try {
          preprocess(read_image(paths[first + i], {.orientation = orientation}), preprocessing_,
                     std::span(pixels).subspan(i * of_image, of_image));
        } catch (const Error& error) {
          failures[i] = error.what();
        }
      }
    });
    for (std::size_t next = first + count; next < std::min(first + count + stretch, paths.size());
         ++next) {
      ask_for_file(paths[next]);
    }
    EmbeddedBatch batch;
    batch.first = first;
    batch.count = count;
    for (std::size_t i = 0; i < count; ++i) {
      if (failures[i]) {
        if (bad == BadImages::stop) {
          throw Error(*failures[i] + " (--skip-bad goes on without it)");
        }
        batch.bad.push_back({first + i, *failures[i]});
        continue;
      }
      const std::size_t place = batch.indices.size();
      if (place != i) {
        std::copy_n(&pixels[i * of_image], of_image, &pixels[place * of_image]);
      }
      batch.indices.push_back(first + i);
    }
    batch.cells.resize(batch.indices.size() * cells_per_grid() * dim());
    batch.globals.resize(batch.indices.size() * dim());
    embed_pixels(pixels, batch.indices.size(), batch.cells.data(), batch.globals.data());
    if (!sink(batch)) return;
  }
}

}  // namespace diml
