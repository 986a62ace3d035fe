#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <torch/torch.h>

#include "augment.h"
#include "diml/embedder.h"

namespace diml::training {

// Decoded images, kept while memory allows. Shared by the threads of a loader.
class ImageCache {
 public:
  ImageCache(std::vector<std::string> paths, Orientation orientation, std::size_t most_bytes);

  std::size_t size() const { return paths_.size(); }
  const std::string& path(std::size_t index) const { return paths_[index]; }
  std::shared_ptr<const Image> get(std::size_t index);

 private:
  std::vector<std::string> paths_;
  Orientation orientation_;
  std::size_t most_bytes_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::vector<std::shared_ptr<const Image>> images_;
};

struct TrainingBatch {
  std::vector<std::size_t> indices;  // into the cache's paths
  torch::Tensor pixels;              // [B, 3, size, size] uint8
  std::size_t replaced = 0;          // replaced by another image of their class
  std::vector<BadImage> bad{};       // the images that could not be read, each once, ascending
};

struct LoaderParams {
  std::size_t size = 224;
  ChannelOrder channels = ChannelOrder::rgb;
  AugmentParams augment{};
  std::uint64_t seed = 0;  // of this epoch: augmentation depends on it and on the image's place
  std::size_t first_place = 0;  // of these images in a batch that several processes share
  std::size_t threads = 2;
  std::size_t ahead = 3;               // decoded batches in the queue, at most
  torch::Device device = torch::kCPU;  // where they go next
  // Labels of the cache's images, or empty. With them, the next image of its class replaces one
  // that cannot be read.
  std::span<const std::int64_t> stand_ins{};
};

// The batches of an epoch, decoded and augmented by threads of their own a few batches ahead.
class Loader {
 public:
  // first: the batch to begin with, after an interruption.
  Loader(ImageCache& cache, std::vector<std::vector<std::size_t>> batches, std::size_t first,
         LoaderParams params);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // In order. Throws, with the file's name, when an image cannot be read.
  TrainingBatch next();

 private:
  struct Slot {
    TrainingBatch batch;
    std::size_t missing = 0;
  };

  void work();
  // bad: gets the images that could not be read.
  std::shared_ptr<const Image> image_at(std::size_t index, std::vector<BadImage>& bad);
  // Makes room for a batch; false, with the failure noted, where there is none.
  bool begin(Slot& slot, const std::vector<std::size_t>& indices);

  ImageCache& cache_;
  std::vector<std::vector<std::size_t>> batches_;
  LoaderParams params_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t taken_;  // batches that next() has returned, from the epoch's start
  std::size_t batch_;  // the next image to be decoded: its batch and place
  std::size_t place_ = 0;
  std::map<std::size_t, Slot> slots_;
  std::exception_ptr failure_;
  bool told_ = false;  // the failure was reported to a caller of next()
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace diml::training
