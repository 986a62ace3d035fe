#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "diml/grid.h"
#include "diml/grid_pooling.h"
#include "diml/image.h"
#include "diml/network.h"
#include "diml/threads.h"

namespace diml {

// resize, crop, channels in the network's order. planes: [3, crop, crop].
void crop_planes(const Image& image, const Preprocessing& preprocessing,
                 std::span<std::uint8_t> planes);

// What the network sees of a photo, and all that has to wait for the network: the photo itself may
// be a hundred times larger.
struct Crop {
  std::vector<std::uint8_t> planes;  // [3, crop, crop]
};

// The same in the numbers that the network wants.
void preprocess(const Image& image, const Preprocessing& preprocessing, std::span<float> pixels);

struct EmbedderParams {
  std::size_t grid = 4;  // paper, section 4.2
  PoolingRule pooling = PoolingRule::align;
  std::size_t batch = 8;  // most images in one forward pass
  int threads = 0;
};

// Images in one forward pass, where nobody says otherwise.
std::size_t default_batch(const std::string& device);

enum class BadImages : std::uint8_t { stop, skip };

struct BadImage {
  std::size_t index = 0;
  std::string why;
};

// A stretch of embedded images: those of [first, first + count) that could be read.
struct EmbeddedBatch {
  std::size_t first = 0;
  std::size_t count = 0;
  std::vector<std::size_t> indices;  // [kept], rising
  std::vector<float> cells;          // [kept, grid * grid, dim], unit cells
  std::vector<float> globals;        // [kept, dim], unit vectors
  std::vector<BadImage> bad;
};

// The grids of the batch, side by side, from place `first` of the set on.
void put_grids(const EmbeddedBatch& batch, GridSet& grids, std::size_t first);

// Is shown each image that could be decoded, whole, before it is cropped and forgotten. Called by
// the threads that decode, several at once. An Error that it throws makes the image a bad one.
using SeeImage = std::function<void(std::size_t index, const Image& whole)>;

// Images to grids. Whatever is embedded, from files or from memory, is cropped, put into batches
// and run here; a grid has the same bits whatever else is embedded with it.
class Embedder {
 public:
  Embedder(std::unique_ptr<Network> network, Preprocessing preprocessing, EmbedderParams params);

  std::size_t grid() const { return params_.grid; }
  std::size_t cells_per_grid() const { return params_.grid * params_.grid; }
  std::size_t dim() const { return shape_.channels; }
  std::size_t batch() const { return params_.batch; }
  const Preprocessing& preprocessing() const { return preprocessing_; }

  // For whoever embeds later and does not want to keep the photo until then. May be called while
  // the embedder is at work.
  Crop crop(const Image& image) const;

  // cells: [images, grid * grid, dim], globals: [images, dim].
  void embed(std::span<const Image> images, std::span<float> cells, std::span<float> globals);
  void embed(std::span<const Crop> crops, std::span<float> cells, std::span<float> globals);

  // The same as a set.
  GridSet embed(std::span<const Image> images, CellType storage = CellType::float32);
  GridSet embed(std::span<const Crop> crops, CellType storage = CellType::float32);

  // Files, a bounded stretch at a time, decoded by all cores: while a GPU works on the stretch
  // before, or taking turns with a network that runs on the same cores. The next files are asked of
  // the disk meanwhile. `sink` gets every stretch in order, from this thread, and says whether to
  // go on.
  void embed_files(std::span<const std::string> paths, Orientation orientation, BadImages bad,
                   const std::function<bool(const EmbeddedBatch&)>& sink, const SeeImage& see = {});

 private:
  // Puts image i, cropped, into its planes; throws where it cannot be read.
  using Fill = std::function<void(std::size_t i, std::span<std::uint8_t> planes)>;
  struct Stretch;
  void embed_all(std::size_t total, const Fill& fill, BadImages bad,
                 const std::function<void(std::size_t first, std::size_t count)>& coming,
                 const std::function<bool(const EmbeddedBatch&)>& sink);
  Stretch begun(std::size_t room, std::size_t first, std::size_t count, const Fill& fill,
                BadImages bad);
  void embed_in_memory(std::size_t total, const Fill& fill,
                       const std::function<void(const EmbeddedBatch&)>& sink);
  void embed_into(std::size_t total, const Fill& fill, std::span<float> cells,
                  std::span<float> globals);
  GridSet embed_as_set(std::size_t total, const Fill& fill, CellType storage);
  Fill fill_from(std::span<const Image> images) const;
  Fill fill_from(std::span<const Crop> crops) const;
  bool finished(Stretch stretch, const std::function<bool(const EmbeddedBatch&)>& sink);

  std::unique_ptr<Network> network_;
  Preprocessing preprocessing_;
  EmbedderParams params_;
  MapShape shape_;
  std::unique_ptr<GridMaker> maker_;
};

}  // namespace diml
