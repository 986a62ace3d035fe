#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "diml/gallery_embedder.h"
#include "patience.h"

namespace diml::server {

// Photos of all requests go through the network together: one thread takes whatever waits, up to a
// batch, and runs it as one forward pass.
class EmbedQueue {
 public:
  EmbedQueue(GalleryFormat format, std::unique_ptr<Embedder> embedder, std::size_t most_waiting);
  ~EmbedQueue();
  EmbedQueue(const EmbedQueue&) = delete;
  EmbedQueue& operator=(const EmbedQueue&) = delete;

  // Grids of the gallery's kind, in the order of the images. Refusal kBusy or kGone as in Workers.
  StoredGrids embed(const Patience& patience, std::vector<Image> images);

  // The short side that images are made to have before they come here.
  std::size_t short_side() const { return embedder_->preprocessing().resize; }
  const Preprocessing& preprocessing() const { return embedder_->preprocessing(); }

  struct Count {
    std::uint64_t batches = 0;
    std::uint64_t images = 0;
    std::size_t waiting = 0;
  };
  Count count() const;

 private:
  struct Photo {
    Image image;
    std::byte* cells = nullptr;  // where its grid goes
    float* global = nullptr;
    std::exception_ptr failure;
    enum class State { waiting, running, done } state = State::waiting;
  };
  void serve();
  void embed_batch(const std::vector<std::shared_ptr<Photo>>& batch);

  GalleryFormat format_;
  std::unique_ptr<Embedder> embedder_;
  std::size_t most_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable done_;
  std::deque<std::shared_ptr<Photo>> line_;
  Count count_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace diml::server
