#include "service.h"

#include <cstring>

#include "diml/error.h"

namespace diml::server {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(500);
constexpr double kLargestLambda = 10.0;

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
  while (!stopping) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (Clock::now() < next) continue;
    next = Clock::now() + kBetweenLooks;
    try {
      refresh();
    } catch (const std::exception&) {
      // A disk that fails is told to those who search; what was loaded stays.
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
    const std::string why = error.what();
    const bool large = why.find("more than the") != std::string::npos;
    const bool unknown = why.find("is no JPEG") != std::string::npos;
    throw Refusal(large ? 413 : unknown ? 415 : 422, "the image " + why);
  }
}

StoredGrids Service::embed(const Call& call, std::vector<Crop> crops) {
  return embedder->embed(call.deadline, std::move(crops));
}

void Service::read_grid(const Json& json, const std::string& name, GridSet& grids,
                        std::size_t place) const {
  const GalleryFormat& format = gallery.format();
  if (!json.is_object() || !json.contains("cells") || !json["cells"].is_array()) {
    throw Refusal(400, "'" + name + "' needs an id, or cells: a list of lists of numbers");
  }
  const Json& cells = json["cells"];
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
  if (json.contains("global")) global = vector_in(json["global"], format.dim, name + ".global");
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

Subject Service::subject(const Input& input, const std::string& name,
                         const std::string& file_name) const {
  Subject subject;
  if (const FormPart* file = input.file(file_name)) {
    if (input.field(name) != nullptr) {
      throw Refusal(400, "send '" + name + "' once: as a file, as an id or as cells");
    }
    subject.crop = embedder->crop(decode(file->bytes));
    return subject;
  }
  const Json* given = input.field(name);
  if (given == nullptr) {
    throw Refusal(400,
                  "'" + name + "' is missing: an id of the gallery, {\"cells\": ...}, or " +
                      (name == file_name ? "a file of that name" : "a file, '" + file_name + "'"));
  }
  if (!given->is_object() || given->contains("id")) {
    if (given->is_object()) {
      const Json& id = (*given)["id"];
      if (!id.is_number_integer()) throw Refusal(400, "'" + name + ".id' must be a whole number");
      subject.id = id.get<std::int64_t>();
    } else {
      subject.id = input.integer(name);
    }
    expect_item(gallery.snapshot(), *subject.id);
    return subject;
  }
  const GalleryFormat& format = gallery.format();
  GridSet made(1, format.cells_per_grid, format.dim, format.type);
  read_grid(*given, name, made, 0);
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

MatchParams Service::match_params(const Input& input) const {
  MatchParams match = params.match;
  match.marginals = marginal_rule_from(
      input.word("marginals", {"cross_correlation", "uniform"}, name_of(match.marginals)));
  match.transport.lambda =
      input.number("lambda", kSmallestLambda, kLargestLambda, match.transport.lambda);
  return match;
}

}  // namespace diml::server
