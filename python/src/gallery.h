#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "diml/gallery.h"
#include "diml/searcher.h"
#include "embedder.h"
#include "grids.h"

namespace diml::python {

// A gallery, the searcher in it and the network of its images; the last two are made when they are
// first needed. Safe from several threads.
class OpenGallery {
 public:
  OpenGallery(std::shared_ptr<GridStore> store, SearcherParams searching, EmbeddingParams running)
      : store_(std::move(store)), searching_(std::move(searching)), running_(std::move(running)) {}

  GridStore& store() const { return *store_; }
  // Called with the GIL, which others may have meanwhile.
  std::unique_ptr<GridSnapshot> snapshot() const {
    const py::gil_scoped_release without_gil;
    return store_->snapshot();
  }
  // These are called without the GIL.
  const Searcher& searcher();
  SharedEmbedder& embedder();
  Embedder another_embedder() const;
  // The network that the gallery was created with.
  void keep(std::shared_ptr<SharedEmbedder> embedder) { embedder_ = std::move(embedder); }

  // Queries in the gallery's shape and type of cells.
  GridSet stored_as(const Grids& grids) const;
  GridSet of_photos(const std::vector<std::string>& paths, const Progress& progress);

 private:
  std::shared_ptr<GridStore> store_;
  SearcherParams searching_;
  EmbeddingParams running_;
  std::mutex mutex_;  // guards the members below
  std::unique_ptr<Searcher> searcher_;
  std::shared_ptr<SharedEmbedder> embedder_;
};

using GalleryClass = py::class_<OpenGallery, std::shared_ptr<OpenGallery>>;
void bind_gallery_changes(GalleryClass& gallery);  // gallery_changes.cpp
void bind_gallery_search(GalleryClass& gallery);   // gallery_search.cpp

}  // namespace diml::python
