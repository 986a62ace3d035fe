#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diml/embedding.h"
#include "diml/grid.h"
#include "diml/grid_store.h"
#include "diml/image.h"
#include "diml/network.h"
#include "diml/progress.h"

namespace diml {

// The part of a photo that the network sees. Only this part is kept until the network runs: the
// photo itself may be a hundred times larger.
struct Crop {
  std::vector<std::uint8_t> planes;  // [3, crop, crop]
};

// What happens when an image cannot be read.
enum class BadImages : std::uint8_t { stop, skip };

struct EmbedFilesParams {
  Orientation orientation = Orientation::as_stored;
  BadImages bad = BadImages::stop;
};

struct BadImage {
  std::size_t index = 0;
  std::string why;
};

// A chunk of embedded images: those of [first, first + count) that could be read.
struct EmbeddedBatch {
  std::size_t first = 0;
  std::size_t count = 0;
  std::vector<std::size_t> indices;  // [kept], ascending
  std::vector<float> cells;          // [kept, grid * grid, dim], unit cells
  std::vector<float> globals;        // [kept, dim], unit vectors
  std::vector<BadImage> bad;
};

// Copies the grids of the batch into the set, from index `first` on.
void put_grids(const EmbeddedBatch& batch, GridSet& grids, std::size_t first);

// Gets each decoded image before it is cropped and freed. The decoding threads call it, several at
// the same time. If it throws an Error, the image counts as one that cannot be read.
using SeeImage = std::function<void(std::size_t index, const Image& whole)>;

// Images to grids. All images, from files or from memory, are cropped, put into batches and run
// here; a grid has the same bits in any batch.
class Embedder {
 public:
  // With a network of your own. params.model and params.preprocessing are ignored;
  // fingerprint: of the model's file, "" where there is none. calibration: of the model.
  Embedder(std::unique_ptr<Network> network, Preprocessing preprocessing, EmbeddingParams params,
           std::string fingerprint = "", std::optional<Calibration> calibration = {});
  ~Embedder();
  Embedder(Embedder&&) noexcept;
  Embedder& operator=(Embedder&&) noexcept;

  const EmbeddingParams& params() const;
  std::size_t cells_per_grid() const;
  std::size_t dim() const;
  const Preprocessing& preprocessing() const;
  const char* network_name() const;
  const std::optional<Calibration>& calibration() const;

  // The format of a store for its grids, with cells of the default type. It describes how images
  // become grids where the embedder has a fingerprint.
  GridFormat format() const;

  // To embed a photo later without keeping the photo. May be called while the embedder is running.
  Crop crop(const Image& image) const;

  // cells: [images, grid * grid, dim], globals: [images, dim].
  void embed(std::span<const Image> images, std::span<float> cells, std::span<float> globals);
  void embed(std::span<const Crop> crops, std::span<float> cells, std::span<float> globals);

  // The same as a set.
  GridSet embed(std::span<const Image> images, CellType storage = CellType::float32);
  GridSet embed(std::span<const Crop> crops, CellType storage = CellType::float32);

  // Files, chunk by chunk, decoded by all cores: while a GPU computes the previous chunk, or in
  // turn with a network that runs on the same cores. The next files are prefetched. `sink` gets
  // every chunk in order, on the calling thread; it can be cancelled before the first chunk and
  // after each.
  void embed_files(std::span<const std::string> paths, const EmbedFilesParams& params,
                   const std::function<void(const EmbeddedBatch&)>& sink,
                   const Progress& progress = {}, const SeeImage& see = {});

 private:
  struct Running;
  std::unique_ptr<Running> running_;
};

// What the model's file says about its best setting. Throws where there is no such model.
std::optional<Calibration> calibration_of_model(const std::string& model);
// The same of the model that the grids of a store were made with.
std::optional<Calibration> calibration_of(const GridFormat& format);

// A trained model from its file. Throws, with the remedy, where there is no such model.
Embedder open_embedder(const EmbeddingParams& params);

}  // namespace diml
