#include "diml/embedder.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "diml/error.h"
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

void Embedder::embed_in_memory(std::size_t total, const Fill& fill,
                               const std::function<void(const EmbeddedBatch&)>& sink) {
  embed_all(
      total, fill, BadImages::stop, [](std::size_t, std::size_t) {},
      [&](const EmbeddedBatch& batch) {
        sink(batch);
        return true;
      });
}

void Embedder::embed_into(std::size_t total, const Fill& fill, std::span<float> cells,
                          std::span<float> globals) {
  const std::size_t of_grid = cells_per_grid() * dim();
  if (cells.size() != total * of_grid || globals.size() != total * dim()) {
    throw Error("the embedder was given arrays of the wrong size");
  }
  embed_in_memory(total, fill, [&](const EmbeddedBatch& batch) {
    std::copy(batch.cells.begin(), batch.cells.end(), &cells[batch.first * of_grid]);
    std::copy(batch.globals.begin(), batch.globals.end(), &globals[batch.first * dim()]);
  });
}

GridSet Embedder::embed_as_set(std::size_t total, const Fill& fill, CellType storage) {
  GridSet grids(total, cells_per_grid(), dim(), storage);
  embed_in_memory(total, fill,
                  [&](const EmbeddedBatch& batch) { put_grids(batch, grids, batch.first); });
  return grids;
}

Embedder::Fill Embedder::fill_from(std::span<const Image> images) const {
  return [this, images](std::size_t i, std::span<std::uint8_t> planes) {
    crop_planes(images[i], preprocessing_, planes);
  };
}

Embedder::Fill Embedder::fill_from(std::span<const Crop> crops) const {
  return [crops](std::size_t i, std::span<std::uint8_t> planes) {
    if (crops[i].planes.size() != planes.size()) {
      throw Error("the embedder was given a crop of another size");
    }
    std::copy(crops[i].planes.begin(), crops[i].planes.end(), planes.begin());
  };
}

Crop Embedder::crop(const Image& image) const {
  Crop made{std::vector<std::uint8_t>(3 * preprocessing_.crop * preprocessing_.crop)};
  crop_planes(image, preprocessing_, made.planes);
  return made;
}

void Embedder::embed(std::span<const Image> images, std::span<float> cells,
                     std::span<float> globals) {
  embed_into(images.size(), fill_from(images), cells, globals);
}

void Embedder::embed(std::span<const Crop> crops, std::span<float> cells,
                     std::span<float> globals) {
  embed_into(crops.size(), fill_from(crops), cells, globals);
}

GridSet Embedder::embed(std::span<const Image> images, CellType storage) {
  return embed_as_set(images.size(), fill_from(images), storage);
}

GridSet Embedder::embed(std::span<const Crop> crops, CellType storage) {
  return embed_as_set(crops.size(), fill_from(crops), storage);
}

void Embedder::embed_files(std::span<const std::string> paths, Orientation orientation,
                           BadImages bad, const std::function<bool(const EmbeddedBatch&)>& sink,
                           const SeeImage& see) {
  embed_all(
      paths.size(),
      [&](std::size_t i, std::span<std::uint8_t> planes) {
        const Image whole = read_image(paths[i], {.orientation = orientation});
        crop_planes(whole, preprocessing_, planes);
        if (see) see(i, whole);
      },
      bad,
      [&](std::size_t first, std::size_t count) {
        for (std::size_t i = first; i < first + count; ++i) ask_for_file(paths[i]);
      },
      sink);
}

void put_grids(const EmbeddedBatch& batch, GridSet& grids, std::size_t first) {
  const std::size_t of_grid = grids.cells_per_grid() * grids.dim();
  for (std::size_t k = 0; k < batch.indices.size(); ++k) {
    grids.set(first + k, std::span(batch.cells).subspan(k * of_grid, of_grid),
              std::span(batch.globals).subspan(k * grids.dim(), grids.dim()));
  }
}

}  // namespace diml
