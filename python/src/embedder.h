#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#include "calls.h"
#include "diml/embedder.h"

namespace diml::python {

// The members of EmbeddingParams by their names; those that are absent keep their defaults. The
// number of threads is set_threads()'s.
EmbeddingParams embedding_params(const py::dict& given);

// A network runs for one thread at a time: the others wait, without the GIL.
class SharedEmbedder {
 public:
  explicit SharedEmbedder(Embedder embedder) : embedder_(std::move(embedder)) {}
  SharedEmbedder(const SharedEmbedder&) = delete;

  // Never changes.
  const Embedder& about() const { return embedder_; }

  // Call it without the GIL. Throws where this thread holds it already: a progress function that
  // embeds.
  class Turn {
   public:
    explicit Turn(SharedEmbedder& shared);
    ~Turn();
    Embedder* operator->() const { return &shared_.embedder_; }
    Embedder& operator*() const { return shared_.embedder_; }

   private:
    SharedEmbedder& shared_;
  };

 private:
  Embedder embedder_;
  std::mutex mutex_;
  std::atomic<std::thread::id> holder_{};
};

}  // namespace diml::python
