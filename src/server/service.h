#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "body_room.h"
#include "cancellation.h"
#include "catalogue.h"
#include "diml/error.h"
#include "diml/searcher.h"
#include "diml/server.h"
#include "embed_queue.h"
#include "keys.h"
#include "metrics.h"
#include "request_fields.h"
#include "workers.h"
#include "write_lane.h"

namespace diml::server {

// The subject of a request: an image of the gallery, an uploaded one, or a grid of another program.
struct Subject {
  std::optional<std::int64_t> id;
  std::optional<Crop> crop;     // of an uploaded image
  std::optional<GridSet> grid;  // a set of one
};

// The grid of a subject: one of an uploaded image or of another program, or a view of a stored one.
class SubjectGrid {
 public:
  explicit SubjectGrid(GridSet own) : own_(std::move(own)) {}
  SubjectGrid(const GridStore& gallery, std::int64_t id) : gallery_(&gallery), id_(id) {}

  // A set of one. On the worker that uses it: a snapshot is held from here on, not while the call
  // waits for its turn. Refusal 404 where the item was removed meanwhile.
  GridSetView view();

 private:
  GridSet own_;
  const GridStore* gallery_ = nullptr;
  std::int64_t id_ = 0;
  std::unique_ptr<GridSnapshot> snapshot_;
  GridView stored_;
};

// Refusal 404 if it does not exist.
void expect_item(const GridSnapshot& snapshot, std::int64_t id);

// Shared by all routes.
class Service {
 public:
  Service(std::shared_ptr<GridStore> opened, std::unique_ptr<Embedder> embedder,
          std::string why_no_photos, const ServerParams& params);

  template <class Work>
  auto work(const Call& call, Work work) -> decltype(work()) {
    return workers.run(call.patience, [&] {
      try {
        return work();
      } catch (const Error& error) {
        // What the library says of cancelled work is not the reason.
        if (error.kind() == ErrorKind::cancelled) expect_patience(call.patience);
        throw;
      }
    });
  }

  // A change of the gallery. The work owns all that it uses: see WriteLane.
  template <class Work>
  auto write(const Call& call, Work work) -> decltype(work()) {
    return writes.run(call.patience, std::move(work));
  }

  // After stop(): for how long running requests go on.
  void stop_within(double seconds);
  bool ends() const;

  // On a worker: decodes the input.
  Subject subject(const SubjectInput& given) const;
  // On the connection's thread, which may have to wait for the network.
  SubjectGrid grid_of(const Call& call, Subject subject);
  // Of an upload. Refusal 413, 415 or 422.
  Image decode(std::string_view bytes) const;
  GridSet embed(const Call& call, std::vector<Crop> crops);

  // On a worker: grids of another program, in the gallery's shape.
  GridSet grids_in(const Json& list, const std::string& name) const;

  // Of a connection that is closed without an answer: counted, and logged where there is memory.
  void note_last_resort(const char* why) noexcept;

  // One line for the server's log, from any thread.
  void log(const std::string& line);
  // For the access log, from any thread.
  void served(const ServedRequest& request);

  const std::shared_ptr<GridStore> gallery;
  const ServerParams params;
  const std::string why_no_photos;
  const std::string openapi;  // the document
  const Searcher search;
  Catalogue catalogue;
  Workers workers;
  WriteLane writes;
  std::unique_ptr<EmbedQueue> embedder;  // null: see why_no_photos
  Metrics metrics;
  BodyRooms bodies;
  Keys keys;
  std::atomic<std::size_t> connections{0};
  std::atomic<std::size_t> refused_connections{0};
  std::atomic<std::size_t> closed_connections{0};  // to make room for others
  std::atomic<std::size_t> last_resorts{0};        // failures that no answer could be made of
  std::atomic<bool> stopping{false};

 private:
  // Into a set of the gallery's shape.
  void read_grid(const Json& json, const std::string& name, GridSet& grids,
                 std::size_t place) const;

  std::atomic<Clock::rep> ends_at_{Clock::time_point::max().time_since_epoch().count()};
  std::mutex log_mutex_;
  std::mutex served_mutex_;
};

}  // namespace diml::server
