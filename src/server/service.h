#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "diml/gallery_search.h"
#include "diml/server.h"
#include "embed_queue.h"
#include "metrics.h"
#include "request_fields.h"
#include "workers.h"

namespace diml::server {

// Ids and labels of what the gallery holds, for lists.
struct Catalogue {
  std::vector<std::int64_t> ids;                               // ascending
  std::map<std::int64_t, std::vector<std::int64_t>> by_label;  // ids ascending
};

// What a request is about: an image of the gallery, one that was sent, or a grid from elsewhere.
struct Subject {
  std::optional<std::int64_t> id;
  std::optional<Crop> crop;  // of an image that was sent
  std::optional<StoredGrids> grid;
};

// What all routes share.
class Service {
 public:
  Service(Gallery opened, std::unique_ptr<Embedder> embedder, std::string why_no_photos,
          const ServerParams& params);
  ~Service();

  template <class Work>
  auto work(const Call& call, Work work) -> decltype(work()) {
    return workers.run(call.patience, std::move(work));
  }

  // On a worker: what the input says, decoded.
  Subject subject(const SubjectInput& given) const;
  // On the connection's thread: the network may have to be waited for. A set of one.
  StoredGrids grid_of(const Call& call, Subject subject);
  // Of an upload. Refusal 413, 415 or 422.
  Image decode(std::string_view bytes) const;
  StoredGrids embed(const Call& call, std::vector<Crop> crops);

  // On a worker: grids from elsewhere, in the gallery's shape.
  GridSet grids_in(const Json& list, const std::string& name) const;
  const Matcher& matcher() const { return *matcher_; }

  std::shared_ptr<const Catalogue> catalogue() const;
  // Takes in what was added, here or by another process.
  void refresh();
  // Refusal 404 where it is not there.
  void expect_item(const GallerySnapshot& snapshot, std::int64_t id) const;

  // One line for whoever runs the server, from any thread.
  void log(const std::string& line);

  Gallery gallery;
  const ServerParams params;
  const std::string why_no_photos;
  GallerySearch search;
  Workers workers;
  std::unique_ptr<EmbedQueue> embedder;  // null: see why_no_photos
  Metrics metrics;
  std::atomic<std::size_t> body_bytes{0};  // of requests that are under way
  std::atomic<std::size_t> connections{0};
  std::atomic<bool> stopping{false};

 private:
  // Into a set of the gallery's shape.
  void read_grid(const Json& json, const std::string& name, GridSet& grids,
                 std::size_t place) const;
  void watch();

  std::unique_ptr<Matcher> matcher_;
  mutable std::mutex catalogue_mutex_;
  std::shared_ptr<const Catalogue> catalogue_;
  std::mutex refresh_mutex_;
  std::uint64_t listed_ = UINT64_MAX;  // the revision of catalogue_
  std::mutex log_mutex_;
  std::thread watcher_;
};

}  // namespace diml::server
