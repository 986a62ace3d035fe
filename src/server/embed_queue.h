#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "diml/gallery_images.h"
#include "fair_line.h"
#include "patience.h"

namespace diml::server {

// Photos of all requests are embedded together: one thread takes the waiting photos, up to one
// batch of the embedder, in turn by client. A single photo runs alone.
class EmbedQueue {
 public:
  EmbedQueue(GridFormat format, std::unique_ptr<Embedder> embedder, std::size_t most_waiting);
  ~EmbedQueue();
  EmbedQueue(const EmbedQueue&) = delete;
  EmbedQueue& operator=(const EmbedQueue&) = delete;

  // The crop of a photo, to be queued for the network. From any thread.
  Crop crop(const Image& whole) const { return embedder_->crop(whole); }
  // Grids of the gallery's kind, in the order of the photos. Refusal kBusy or kGone as in Workers.
  GridSet embed(const Patience& patience, std::vector<Crop> crops);

  const Preprocessing& preprocessing() const { return embedder_->preprocessing(); }

  struct Count {
    std::uint64_t batches = 0;
    std::uint64_t images = 0;
    std::size_t waiting = 0;
  };
  Count count() const;

 private:
  struct Photo {
    std::string client;
    Crop crop;
    GridSet* grids = nullptr;  // where its grid goes
    std::size_t place = 0;
    std::exception_ptr failure;
    enum class State { waiting, running, done } state = State::waiting;
  };
  void serve();
  std::vector<std::shared_ptr<Photo>> next_batch();
  void embed_batch(const std::vector<std::shared_ptr<Photo>>& batch);

  GridFormat format_;
  std::unique_ptr<Embedder> embedder_;
  std::size_t most_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable done_;
  FairLine<std::shared_ptr<Photo>> line_;
  Count count_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace diml::server
