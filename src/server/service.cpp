#include "service.h"

#include "base/shown_text.h"
#include "cors.h"
#include "diml/error.h"
#include "gallery/writers_turn.h"
#include "openapi.h"
#include "requests.h"

namespace diml::server {
namespace {

std::vector<float> vector_in(const Json& json, std::size_t size, const std::string& name) {
  if (!json.is_array() || json.size() != size) {
    throw Refusal(422, "'" + name + "' must hold " + std::to_string(size) + " numbers");
  }
  std::vector<float> values;
  values.reserve(size);
  for (const Json& value : json) {
    if (!value.is_number()) throw Refusal(400, "'" + name + "' must hold numbers");
    values.push_back(value.get<float>());
  }
  return values;
}

}  // namespace

Service::Service(std::shared_ptr<GridStore> opened, std::unique_ptr<Embedder> network,
                 std::string why, const ServerParams& given)
    : gallery(std::move(opened)),
      params(given),
      why_no_photos(std::move(why)),
      openapi(openapi_text(given)),
      search(gallery, {params.source, params.backend, params.threads, {}, TakeIn::at_once}),
      workers(params.limits.workers, params.limits.waiting, params.threads),
      writes([store = gallery] { gallery::await_writers_turn(*store); }, params.limits.writes,
             params.limits.write_seconds),
      bodies(params.limits.bodies),
      keys(params.tokens) {
  check_origins(params.allowed_origins);
  if (network) {
    embedder =
        std::make_unique<EmbedQueue>(gallery->format(), std::move(network), params.limits.waiting);
  }
}

void expect_item(const GridSnapshot& snapshot, std::int64_t id) {
  if (snapshot.contains(id)) return;
  throw Refusal(404, "there is no item " + std::to_string(id) + ": GET /v1/items lists them");
}

Image Service::decode(std::string_view bytes) const {
  if (!embedder) throw Refusal(422, why_no_photos);
  try {
    const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
    return decode_image({first, bytes.size()},
                        {.orientation = Orientation::exif, .most_pixels = params.limits.pixels});
  } catch (const Error& error) {
    // Every error but a bug is the client's: it sent the image.
    const ErrorKind kind = error.kind();
    if (kind == ErrorKind::internal) throw;
    const int status = kind == ErrorKind::out_of_resources ? 413
                       : kind == ErrorKind::unsupported    ? 415
                                                           : 422;
    throw Refusal(status, std::string("the image ") + error.what());
  }
}

GridSet Service::embed(const Call& call, std::vector<Crop> crops) {
  return embedder->embed(call.patience, std::move(crops));
}

void Service::read_grid(const Json& json, const std::string& name, GridSet& grids,
                        std::size_t place) const {
  const GridFormat& format = gallery->format();
  if (!json.is_object() || !json.contains("cells")) {
    throw Refusal(400, "'" + name + "' needs an id, or cells: a list of lists of numbers");
  }
  const auto given = read_object<GridInput>(json, name);
  const Json& cells = *given.cells;
  if (cells.size() != format.cells_per_grid) {
    throw Refusal(422, "the gallery has grids of " + shape_text(format) + ": '" + name +
                           "' needs " + std::to_string(format.cells_per_grid) + " cells, not " +
                           std::to_string(cells.size()));
  }
  std::vector<float> all;
  for (const Json& cell : cells) {
    const std::vector<float> one = vector_in(cell, format.dim, name + ".cells");
    all.insert(all.end(), one.begin(), one.end());
  }
  std::vector<float> global;
  if (given.global != nullptr) global = vector_in(*given.global, format.dim, name + ".global");
  try {
    grids.set(place, all, global);
  } catch (const Error& error) {
    throw Refusal(422, "'" + name + "': " + error.what());
  }
}

GridSet Service::grids_in(const Json& list, const std::string& name) const {
  const GridFormat& format = gallery->format();
  GridSet grids(list.size(), format.cells_per_grid, format.dim, format.type);
  for (std::size_t i = 0; i < list.size(); ++i) read_grid(list[i], name, grids, i);
  return grids;
}

Subject Service::subject(const SubjectInput& given) const {
  Subject subject;
  if (given.file != nullptr) {
    subject.crop = embedder->crop(decode(given.file->bytes));
    return subject;
  }
  if (given.id) {
    expect_item(*gallery->snapshot(), *given.id);
    subject.id = given.id;
    return subject;
  }
  const GridFormat& format = gallery->format();
  subject.grid.emplace(1, format.cells_per_grid, format.dim, format.type);
  read_grid(*given.grid, given.name, *subject.grid, 0);
  return subject;
}

SubjectGrid Service::grid_of(const Call& call, Subject subject) {
  if (subject.grid) return SubjectGrid(std::move(*subject.grid));
  if (subject.id) return {*gallery, *subject.id};
  std::vector<Crop> crops;
  crops.push_back(std::move(*subject.crop));
  return SubjectGrid(embed(call, std::move(crops)));
}

GridSetView SubjectGrid::view() {
  if (gallery_ == nullptr) return own_.view();
  if (!snapshot_) {
    snapshot_ = gallery_->snapshot();
    expect_item(*snapshot_, id_);
    stored_ = snapshot_->grid(id_);
  }
  return set_of({&stored_, 1});
}

void Service::stop_within(double seconds) {
  if (!stopping.exchange(true)) ends_at_ = after(seconds).time_since_epoch().count();
}

void Service::note_last_resort(const char* why) noexcept {
  ++last_resorts;
  try {
    log(std::string("- - 503: ") + why);
  } catch (...) {
    // It is counted.
  }
}

bool Service::ends() const { return Clock::now().time_since_epoch().count() >= ends_at_; }

void Service::log(const std::string& line) {
  if (!params.log) return;
  const std::string one = shown_message(line);  // paths may contain any bytes
  const std::lock_guard lock(log_mutex_);
  params.log(one);
}

void Service::served(const ServedRequest& request) {
  if (!params.served) return;
  const std::lock_guard lock(served_mutex_);
  try {
    params.served(request);
  } catch (...) {
    // A log that cannot be written must not cost an answer.
  }
}

}  // namespace diml::server
