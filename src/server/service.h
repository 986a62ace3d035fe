#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "catalogue.h"
#include "diml/searcher.h"
#include "diml/server.h"
#include "embed_queue.h"
#include "metrics.h"
#include "request_fields.h"
#include "workers.h"

namespace diml::server {

// What a request is about: an image of the gallery, one that was sent, or a grid from elsewhere.
struct Subject {
  std::optional<std::int64_t> id;
  std::optional<Crop> crop;     // of an image that was sent
  std::optional<GridSet> grid;  // a set of one
};

// What all routes share.
class Service {
 public:
  Service(std::shared_ptr<GridStore> opened, std::unique_ptr<Embedder> embedder,
          std::string why_no_photos, const ServerParams& params);

  template <class Work>
  auto work(const Call& call, Work work) -> decltype(work()) {
    return workers.run(call.patience, std::move(work));
  }

  // On a worker: what the input says, decoded.
  Subject subject(const SubjectInput& given) const;
  // On the connection's thread: the network may have to be waited for. A set of one.
  GridSet grid_of(const Call& call, Subject subject);
  // Of an upload. Refusal 413, 415 or 422.
  Image decode(std::string_view bytes) const;
  GridSet embed(const Call& call, std::vector<Crop> crops);

  // On a worker: grids from elsewhere, in the gallery's shape.
  GridSet grids_in(const Json& list, const std::string& name) const;

  // Refusal 404 where it is not there.
  void expect_item(const GridSnapshot& snapshot, std::int64_t id) const;

  // One line for whoever runs the server, from any thread.
  void log(const std::string& line);

  const std::shared_ptr<GridStore> gallery;
  const ServerParams params;
  const std::string why_no_photos;
  const Searcher search;
  Catalogue catalogue;
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

  std::mutex log_mutex_;
};

}  // namespace diml::server
