#include "diml/embedder.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "base/input_file.h"
#include "base/threads.h"
#include "diml/error.h"
#include "engine/crop_planes.h"
#include "engine/host_grid_maker.h"

namespace diml {

// Images that the network works on, and their results to come.
struct Embedder::Chunk {
  std::size_t slot = 0;
  EmbeddedBatch batch;
  std::optional<Error> failure{};  // of the image after the last one, where bad ones end the work
};

Embedder::Embedder(std::unique_ptr<Network> network, Preprocessing preprocessing,
                   EmbeddingParams params, std::string fingerprint,
                   std::optional<Calibration> calibration)
    : network_(std::move(network)),
      preprocessing_(preprocessing),
      params_(std::move(params)),
      fingerprint_(std::move(fingerprint)),
      calibration_(std::move(calibration)),
      shape_(network_->output_shape(preprocessing.crop, preprocessing.crop)) {
  check(preprocessing_);
  if (params_.batch == 0) params_.batch = default_batch(params_.device);
  check_grid_shape(cells_per_grid(), dim());
  maker_ = network_->grid_maker(preprocessing_, params_);
  if (!maker_) maker_ = make_host_grid_maker(*network_, preprocessing_, params_);
}

Embedder::~Embedder() = default;
Embedder::Embedder(Embedder&&) noexcept = default;
Embedder& Embedder::operator=(Embedder&&) noexcept = default;

GridFormat Embedder::format() const {
  GridFormat format;
  format.cells_per_grid = cells_per_grid();
  format.dim = dim();
  if (fingerprint_.empty()) return format;
  format.model = params_.model;
  format.embedding = to_text(preprocessing_);
  format.embedding["sha256"] = fingerprint_;
  format.embedding["grid"] = std::to_string(params_.grid);
  format.embedding["pooling"] = name_of(params_.pooling);
  format.embedding["projection"] = params_.projection ? "yes" : "no";
  if (calibration_) format.embedding.merge(to_text(*calibration_));
  return format;
}

Embedder::Chunk Embedder::begun(std::size_t slot, std::size_t first, std::size_t count,
                                const Fill& fill, BadImages bad) {
  const std::size_t of_image = 3 * preprocessing_.crop * preprocessing_.crop;
  const std::span<std::uint8_t> planes = maker_->planes(slot);
  std::vector<std::optional<Error>> failures(count);
  parallel_for(count, 1, params_.threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      try {
        fill(first + i, planes.subspan(i * of_image, of_image));
      } catch (const Error& error) {
        failures[i] = error;
      }
    }
  });
  Chunk chunk;
  chunk.slot = slot;
  EmbeddedBatch& batch = chunk.batch;
  batch.first = first;
  batch.count = count;
  for (std::size_t i = 0; i < count; ++i) {
    if (failures[i]) {
      if (bad == BadImages::stop) {
        chunk.failure.emplace(failures[i]->kind(), failures[i]->what(), "skip_bad");
        batch.count = i;
        break;
      }
      batch.bad.push_back({first + i, failures[i]->what()});
      continue;
    }
    const std::size_t place = batch.indices.size();
    if (place != i) {
      std::copy_n(&planes[i * of_image], of_image, &planes[place * of_image]);
    }
    batch.indices.push_back(first + i);
  }
  maker_->begin(slot, batch.indices.size());
  return chunk;
}

void Embedder::finish(Chunk chunk, const std::function<void(const EmbeddedBatch&)>& sink) {
  EmbeddedBatch& batch = chunk.batch;
  batch.cells.resize(batch.indices.size() * cells_per_grid() * dim());
  batch.globals.resize(batch.indices.size() * dim());
  maker_->finish(chunk.slot, batch.cells, batch.globals);
  sink(batch);
}

bool Embedder::embed_all(std::size_t total, const Fill& fill, BadImages bad,
                         const std::function<void(std::size_t, std::size_t)>& coming,
                         const std::function<void(const EmbeddedBatch&)>& sink,
                         const Progress& progress) {
  std::deque<Chunk> in_flight;
  std::size_t done = 0;
  // Whether to go on.
  const auto finish_first = [&] {
    Chunk chunk = std::move(in_flight.front());
    in_flight.pop_front();
    done += chunk.batch.count;
    finish(std::move(chunk), sink);
    progress(done, total);
    return done == total || !progress.cancelled();
  };
  const std::size_t most = maker_->images();
  std::size_t slot = 0;
  for (std::size_t first = 0; first < total; first += most) {
    const std::size_t count = std::min(most, total - first);
    in_flight.push_back(begun(slot, first, count, fill, bad));
    if (const std::optional<Error> failure = in_flight.back().failure) {
      // The images before the bad one are embedded all the same.
      while (!in_flight.empty() && finish_first()) {
      }
      throw Error(*failure);
    }
    coming(first + count, std::min(most, total - first - count));
    slot = (slot + 1) % maker_->slots();
    if (in_flight.size() == maker_->slots() && !finish_first()) return false;
  }
  while (!in_flight.empty()) {
    if (!finish_first()) return false;
  }
  return true;
}

void Embedder::embed_in_memory(std::size_t total, const Fill& fill,
                               const std::function<void(const EmbeddedBatch&)>& sink) {
  embed_all(total, fill, BadImages::stop, [](std::size_t, std::size_t) {}, sink, {});
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

bool Embedder::embed_files(std::span<const std::string> paths, const EmbedFilesParams& params,
                           const std::function<void(const EmbeddedBatch&)>& sink,
                           const Progress& progress, const SeeImage& see) {
  return embed_all(
      paths.size(),
      [&](std::size_t i, std::span<std::uint8_t> planes) {
        const Image whole = read_image(paths[i], {.orientation = params.orientation});
        crop_planes(whole, preprocessing_, planes);
        if (see) see(i, whole);
      },
      params.bad,
      [&](std::size_t first, std::size_t count) {
        for (std::size_t i = first; i < first + count; ++i) ask_for_file(paths[i]);
      },
      sink, progress);
}

void put_grids(const EmbeddedBatch& batch, GridSet& grids, std::size_t first) {
  const std::size_t of_grid = grids.cells_per_grid() * grids.dim();
  for (std::size_t k = 0; k < batch.indices.size(); ++k) {
    grids.set(first + k, std::span(batch.cells).subspan(k * of_grid, of_grid),
              std::span(batch.globals).subspan(k * grids.dim(), grids.dim()));
  }
}

}  // namespace diml
