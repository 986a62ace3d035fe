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

namespace {

// Writes image i, cropped, to its planes; throws where it cannot be read.
using Fill = std::function<void(std::size_t i, std::span<std::uint8_t> planes)>;
using Sink = std::function<void(const EmbeddedBatch&)>;

// Images that the network works on, and their results to come.
struct Chunk {
  std::size_t slot = 0;
  EmbeddedBatch batch;
  std::optional<Error> failure{};  // of the image after the last one, where bad ones end the work
};

}  // namespace

struct Embedder::Running {
  std::unique_ptr<Network> network;
  Preprocessing preprocessing;
  EmbeddingParams params;
  std::string fingerprint;
  std::optional<Calibration> calibration;
  MapShape shape;
  std::unique_ptr<GridMaker> maker;

  std::size_t cells_per_grid() const { return params.grid * params.grid; }
  std::size_t dim() const { return shape.channels; }
  std::size_t bytes_of_image() const { return 3 * preprocessing.crop * preprocessing.crop; }

  Chunk begun(std::size_t slot, std::size_t first, std::size_t count, const Fill& fill,
              BadImages bad);
  void finish(Chunk chunk, const Sink& sink);
  // coming: the images that are wanted next.
  void embed_all(std::size_t total, const Fill& fill, BadImages bad,
                 const std::function<void(std::size_t first, std::size_t count)>& coming,
                 const Sink& sink, const Progress& progress);
  void embed_in_memory(std::size_t total, const Fill& fill, const Sink& sink);
  void embed_into(std::size_t total, const Fill& fill, std::span<float> cells,
                  std::span<float> globals);
  GridSet embed_as_set(std::size_t total, const Fill& fill, CellType storage);
  Fill fill_from(std::span<const Image> images) const;
  Fill fill_from(std::span<const Crop> crops) const;
};

Embedder::Embedder(std::unique_ptr<Network> network, Preprocessing preprocessing,
                   EmbeddingParams params, std::string fingerprint,
                   std::optional<Calibration> calibration)
    : running_(std::make_unique<Running>()) {
  Running& own = *running_;
  own.network = std::move(network);
  own.preprocessing = preprocessing;
  own.params = std::move(params);
  own.fingerprint = std::move(fingerprint);
  own.calibration = std::move(calibration);
  own.shape = own.network->output_shape(preprocessing.crop, preprocessing.crop);
  check(own.preprocessing);
  if (own.params.batch == 0) own.params.batch = default_batch(own.params.device);
  check_grid_shape(own.cells_per_grid(), own.dim());
  own.maker = own.network->grid_maker(own.preprocessing, own.params);
  if (!own.maker) own.maker = make_host_grid_maker(*own.network, own.preprocessing, own.params);
}

Embedder::~Embedder() = default;
Embedder::Embedder(Embedder&&) noexcept = default;
Embedder& Embedder::operator=(Embedder&&) noexcept = default;

const EmbeddingParams& Embedder::params() const { return running_->params; }
std::size_t Embedder::cells_per_grid() const { return running_->cells_per_grid(); }
std::size_t Embedder::dim() const { return running_->dim(); }
const Preprocessing& Embedder::preprocessing() const { return running_->preprocessing; }
const char* Embedder::network_name() const { return running_->network->name(); }
const std::optional<Calibration>& Embedder::calibration() const { return running_->calibration; }

GridFormat Embedder::format() const {
  const Running& own = *running_;
  GridFormat format;
  format.cells_per_grid = own.cells_per_grid();
  format.dim = own.dim();
  if (own.fingerprint.empty()) return format;
  format.model = own.params.model;
  format.embedding = to_text(own.preprocessing);
  format.embedding["sha256"] = own.fingerprint;
  format.embedding["grid"] = std::to_string(own.params.grid);
  format.embedding["pooling"] = name_of(own.params.pooling);
  format.embedding["projection"] = own.params.projection ? "yes" : "no";
  if (own.calibration) format.embedding.merge(to_text(*own.calibration));
  return format;
}

Chunk Embedder::Running::begun(std::size_t slot, std::size_t first, std::size_t count,
                               const Fill& fill, BadImages bad) {
  const std::size_t of_image = bytes_of_image();
  const std::span<std::uint8_t> planes = maker->planes(slot);
  std::vector<std::optional<Error>> failures(count);
  parallel_for(count, 1, params.threads, [&](std::size_t begin, std::size_t end) {
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
  maker->begin(slot, batch.indices.size());
  return chunk;
}

void Embedder::Running::finish(Chunk chunk, const Sink& sink) {
  EmbeddedBatch& batch = chunk.batch;
  batch.cells.resize(batch.indices.size() * cells_per_grid() * dim());
  batch.globals.resize(batch.indices.size() * dim());
  maker->finish(chunk.slot, batch.cells, batch.globals);
  sink(batch);
}

void Embedder::Running::embed_all(std::size_t total, const Fill& fill, BadImages bad,
                                  const std::function<void(std::size_t, std::size_t)>& coming,
                                  const Sink& sink, const Progress& progress) {
  progress.stop_if_cancelled();  // few images are one chunk, with no second look after it
  std::deque<Chunk> in_flight;
  std::size_t done = 0;
  const auto finish_first = [&] {
    Chunk chunk = std::move(in_flight.front());
    in_flight.pop_front();
    done += chunk.batch.count;
    finish(std::move(chunk), sink);
    progress(done, total);
    if (done < total) progress.stop_if_cancelled();
  };
  const std::size_t most = maker->images();
  std::size_t slot = 0;
  for (std::size_t first = 0; first < total; first += most) {
    const std::size_t count = std::min(most, total - first);
    in_flight.push_back(begun(slot, first, count, fill, bad));
    if (const std::optional<Error> failure = in_flight.back().failure) {
      // The images before the bad one are embedded all the same.
      while (!in_flight.empty()) finish_first();
      throw Error(*failure);
    }
    coming(first + count, std::min(most, total - first - count));
    slot = (slot + 1) % maker->slots();
    if (in_flight.size() == maker->slots()) finish_first();
  }
  while (!in_flight.empty()) finish_first();
}

void Embedder::Running::embed_in_memory(std::size_t total, const Fill& fill, const Sink& sink) {
  embed_all(total, fill, BadImages::stop, [](std::size_t, std::size_t) {}, sink, {});
}

void Embedder::Running::embed_into(std::size_t total, const Fill& fill, std::span<float> cells,
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

GridSet Embedder::Running::embed_as_set(std::size_t total, const Fill& fill, CellType storage) {
  GridSet grids(total, cells_per_grid(), dim(), storage);
  embed_in_memory(total, fill,
                  [&](const EmbeddedBatch& batch) { put_grids(batch, grids, batch.first); });
  return grids;
}

Fill Embedder::Running::fill_from(std::span<const Image> images) const {
  return [this, images](std::size_t i, std::span<std::uint8_t> planes) {
    crop_planes(images[i], preprocessing, planes);
  };
}

Fill Embedder::Running::fill_from(std::span<const Crop> crops) const {
  return [crops](std::size_t i, std::span<std::uint8_t> planes) {
    if (crops[i].planes.size() != planes.size()) {
      throw Error("the embedder was given a crop of another size");
    }
    std::copy(crops[i].planes.begin(), crops[i].planes.end(), planes.begin());
  };
}

Crop Embedder::crop(const Image& image) const {
  Crop made{std::vector<std::uint8_t>(running_->bytes_of_image())};
  crop_planes(image, running_->preprocessing, made.planes);
  return made;
}

void Embedder::embed(std::span<const Image> images, std::span<float> cells,
                     std::span<float> globals) {
  running_->embed_into(images.size(), running_->fill_from(images), cells, globals);
}

void Embedder::embed(std::span<const Crop> crops, std::span<float> cells,
                     std::span<float> globals) {
  running_->embed_into(crops.size(), running_->fill_from(crops), cells, globals);
}

GridSet Embedder::embed(std::span<const Image> images, CellType storage) {
  return running_->embed_as_set(images.size(), running_->fill_from(images), storage);
}

GridSet Embedder::embed(std::span<const Crop> crops, CellType storage) {
  return running_->embed_as_set(crops.size(), running_->fill_from(crops), storage);
}

void Embedder::embed_files(std::span<const std::string> paths, const EmbedFilesParams& params,
                           const std::function<void(const EmbeddedBatch&)>& sink,
                           const Progress& progress, const SeeImage& see) {
  running_->embed_all(
      paths.size(),
      [&](std::size_t i, std::span<std::uint8_t> planes) {
        const Image whole = read_image(paths[i], {.orientation = params.orientation});
        crop_planes(whole, running_->preprocessing, planes);
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
