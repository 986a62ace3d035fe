#include "diml/embedder.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "diml/error.h"
#include "diml/grid.h"
#include "diml/input_file.h"
#include "host_grid_maker.h"

namespace diml {

// Images that the network was given, and what will come of them.
struct Embedder::Stretch {
  std::size_t room = 0;
  EmbeddedBatch batch;
};

std::size_t default_batch(const std::string& device) {
  constexpr std::size_t kOfCpu = 8;    // the maps of more leave the caches
  constexpr std::size_t kOfGpu = 256;  // fewer leave parts of it idle
  return device == "cpu" ? kOfCpu : kOfGpu;
}

void crop_planes(const Image& image, const Preprocessing& preprocessing,
                 std::span<std::uint8_t> planes) {
  const std::size_t size = preprocessing.crop;
  const Image crop = centre_crop(resize_short_side(image, preprocessing.resize), size);
  for (std::size_t c = 0; c < 3; ++c) {
    const std::size_t channel = preprocessing.channels == ChannelOrder::bgr ? 2 - c : c;
    std::uint8_t* plane = &planes[c * size * size];
    for (std::size_t p = 0; p < size * size; ++p) plane[p] = crop.pixels[3 * p + channel];
  }
}

void preprocess(const Image& image, const Preprocessing& preprocessing, std::span<float> pixels) {
  const std::size_t places = preprocessing.crop * preprocessing.crop;
  std::vector<std::uint8_t> planes(3 * places);
  crop_planes(image, preprocessing, planes);
  for (std::size_t c = 0; c < 3; ++c) {
    const float mean = preprocessing.mean[c];
    const float scale = 1.0F / preprocessing.deviation[c];
    for (std::size_t p = c * places; p < (c + 1) * places; ++p) {
      pixels[p] = (static_cast<float>(planes[p]) - mean) * scale;
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
  const GridMakerParams wanted{preprocessing_, params_.grid, params_.pooling, params_.batch,
                               params_.threads};
  maker_ = network_->grid_maker(wanted);
  if (!maker_) maker_ = make_host_grid_maker(*network_, wanted);
}

Embedder::Stretch Embedder::begun(std::size_t room, std::size_t first, std::size_t count,
                                  const Fill& fill, BadImages bad) {
  const std::size_t of_image = 3 * preprocessing_.crop * preprocessing_.crop;
  const std::span<std::uint8_t> planes = maker_->planes(room);
  std::vector<std::optional<std::string>> failures(count);
  parallel_for(count, 1, params_.threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      try {
        fill(first + i, planes.subspan(i * of_image, of_image));
      } catch (const Error& error) {
        failures[i] = error.what();
      }
    }
  });
  Stretch stretch;
  stretch.room = room;
  EmbeddedBatch& batch = stretch.batch;
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
      std::copy_n(&planes[i * of_image], of_image, &planes[place * of_image]);
    }
    batch.indices.push_back(first + i);
  }
  maker_->begin(room, batch.indices.size());
  return stretch;
}

bool Embedder::finished(Stretch stretch, const std::function<bool(const EmbeddedBatch&)>& sink) {
  EmbeddedBatch& batch = stretch.batch;
  batch.cells.resize(batch.indices.size() * cells_per_grid() * dim());
  batch.globals.resize(batch.indices.size() * dim());
  maker_->finish(stretch.room, batch.cells, batch.globals);
  return sink(batch);
}

void Embedder::embed_all(std::size_t total, const Fill& fill, BadImages bad,
                         const std::function<void(std::size_t, std::size_t)>& coming,
                         const std::function<bool(const EmbeddedBatch&)>& sink) {
  std::deque<Stretch> under_way;
  const auto finish_first = [&] {
    Stretch stretch = std::move(under_way.front());
    under_way.pop_front();
    return finished(std::move(stretch), sink);
  };
  const std::size_t most = maker_->images();
  std::size_t room = 0;
  for (std::size_t first = 0; first < total; first += most) {
    const std::size_t count = std::min(most, total - first);
    try {
      under_way.push_back(begun(room, first, count, fill, bad));
    } catch (const Error&) {  // what came before it is good
      while (!under_way.empty() && finish_first()) {
      }
      throw;
    }
    coming(first + count, std::min(most, total - first - count));
    room = (room + 1) % maker_->rooms();
    if (under_way.size() == maker_->rooms() && !finish_first()) return;
  }
  while (!under_way.empty()) {
    if (!finish_first()) return;
  }
}

void Embedder::embed(std::span<const Image> images, std::span<float> cells,
                     std::span<float> globals) {
  const std::size_t of_grid = cells_per_grid() * dim();
  if (cells.size() != images.size() * of_grid || globals.size() != images.size() * dim()) {
    throw Error("the embedder was given arrays of the wrong size");
  }
  embed_all(
      images.size(),
      [&](std::size_t i, std::span<std::uint8_t> planes) {
        crop_planes(images[i], preprocessing_, planes);
      },
      BadImages::stop, [](std::size_t, std::size_t) {},
      [&](const EmbeddedBatch& batch) {
        std::copy(batch.cells.begin(), batch.cells.end(), &cells[batch.first * of_grid]);
        std::copy(batch.globals.begin(), batch.globals.end(), &globals[batch.first * dim()]);
        return true;
      });
}

void Embedder::embed_files(std::span<const std::string> paths, Orientation orientation,
                           BadImages bad, const std::function<bool(const EmbeddedBatch&)>& sink) {
  embed_all(
      paths.size(),
      [&](std::size_t i, std::span<std::uint8_t> planes) {
        crop_planes(read_image(paths[i], {.orientation = orientation}), preprocessing_, planes);
      },
      bad,
      [&](std::size_t first, std::size_t count) {
        for (std::size_t i = first; i < first + count; ++i) ask_for_file(paths[i]);
      },
      sink);
}

}  // namespace diml
