#include "service.h"

#include <cstring>

#include "diml/error.h"
#include "requests.h"

namespace diml::server {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(500);

GallerySearchParams search_params(const ServerParams& params) {
  return {100, params.match, params.matcher, params.threads, {}};
}

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

Service::Service(Gallery opened, std::unique_ptr<Embedder> network, std::string why,
                 const ServerParams& given)
    : gallery(std::move(opened)),
      params(given),
      why_no_photos(std::move(why)),
      search(gallery, search_params(params)),
      workers(params.limits.workers, params.limits.waiting),
      matcher_(make_matcher(params.matcher, {params.threads})) {
  if (network) {
    embedder =
        std::make_unique<EmbedQueue>(gallery.format(), std::move(network), params.limits.waiting);
  }
  refresh();
  watcher_ = std::thread([this] { watch(); });
}

Service::~Service() {
  stopping = true;
  watcher_.join();
}

// Another process may add to the gallery as well.
void Service::watch() {
  auto next = Clock::now();
  std::string said;
  while (!stopping) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (Clock::now() < next) continue;
    next = Clock::now() + kBetweenLooks;
    try {
      refresh();
    } catch (const std::exception& error) {
      // What was loaded stays; it is said once.
      if (error.what() != said)
        log(std::string("the gallery cannot be read anew: ") + error.what());
      said = error.what();
    }
  }
}

void Service::refresh() {
  const std::lock_guard one_at_a_time(refresh_mutex_);
  const GallerySnapshot snapshot = gallery.snapshot();
  if (snapshot.revision() == listed_) return;
  search.refresh();
  const GalleryLabels all = snapshot.labels();
  auto fresh = std::make_shared<Catalogue>();
  fresh->ids = all.ids;
  for (std::size_t i = 0; i < all.ids.size(); ++i) {
    fresh->by_label[all.labels[i]].push_back(all.ids[i]);
  }
  listed_ = snapshot.revision();
  const std::lock_guard lock(catalogue_mutex_);
  catalogue_ = std::move(fresh);
}

std::shared_ptr<const Catalogue> Service::catalogue() const {
  const std::lock_guard lock(catalogue_mutex_);
  return catalogue_;
}

void Service::expect_item(const GallerySnapshot& snapshot, std::int64_t id) const {
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
    // Whatever is wrong with it, the client sent it.
    const ErrorKind kind = error.kind();
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
  const GalleryFormat& format = gallery.format();
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
  const GalleryFormat& format = gallery.format();
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
    expect_item(gallery.snapshot(), *given.id);
    subject.id = given.id;
    return subject;
  }
  const GalleryFormat& format = gallery.format();
  GridSet made(1, format.cells_per_grid, format.dim, format.type);
  read_grid(*given.grid, given.name, made, 0);
  subject.grid.emplace(format, 1);
  std::memcpy(subject.grid->cells_of(0), made[0].cells, subject.grid->grid_bytes());
  std::memcpy(subject.grid->global_of(0), made[0].global, format.dim * sizeof(float));
  return subject;
}

StoredGrids Service::grid_of(const Call& call, Subject subject) {
  if (subject.grid) return std::move(*subject.grid);
  if (subject.id) {
    const GallerySnapshot snapshot = gallery.snapshot();
    expect_item(snapshot, *subject.id);
    return snapshot.grids({&*subject.id, 1});
  }
  std::vector<Crop> crops;
  crops.push_back(std::move(*subject.crop));
  return embed(call, std::move(crops));
}

void Service::log(const std::string& line) {
  if (!params.log) return;
  std::string one = line;
  for (char& c : one) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';  // paths may hold anything
  }
  const std::lock_guard lock(log_mutex_);
  params.log(one);
}

}  // namespace diml::server
