// About the server itself: its gallery, health and load.

#include <filesystem>

#include "diml/error.h"
#include "diml/explain.h"
#include "diml/version.h"
#include "routes.h"
#include "search/item_metadata.h"

namespace diml::server {
namespace {

Answered<HealthAnswer> healthz(Service&, const Call&, const NoFields&) {
  return Answered(HealthAnswer{"ok"});
}

// A server that cannot write still answers searches, so it stays ready.
Answered<ReadinessAnswer> readyz(Service& service, const Call&, const NoFields&) {
  if (service.stopping) throw Refusal(kBusy, "the server is about to stop");
  (void)service.gallery->snapshot()->revision();  // throws if the gallery cannot be read
  const std::string fault = service.writes.fault();
  const bool refused = service.params.changes == ItemChanges::refused;
  const bool full = service.gallery->space().is_nearly_full();
  return Answered(ReadinessAnswer{
      "ready",
      refused         ? "read-only"
      : fault.empty() ? "works"
                      : "fails: " + fault,
      full ? "nearly full: more than 90 % of the addresses of this process are in use; raise its "
             "limit (ulimit -v), or compact the gallery"
           : "enough"});
}

Reply openapi(Service& service, const Call&, const NoFields&) { return {.body = service.openapi}; }

std::string name_of_gallery(const GridStore& gallery) {
  const auto folder = std::filesystem::path(gallery.name()).lexically_normal();
  return (folder.has_filename() ? folder : folder.parent_path()).filename().string();
}

// The side of the network's crop as a fraction of the photo's short side; 1 if the gallery does not
// know it.
double crop_of(const GridFormat& format) {
  if (!format.embedding.contains("crop") || !format.embedding.contains("resize")) return 1.0;
  Preprocessing seen;
  from_text({{"crop", format.embedding.at("crop")}, {"resize", format.embedding.at("resize")}},
            seen);
  return static_cast<double>(seen.crop) / static_cast<double>(seen.resize);
}

LimitsAnswer limits_of(const ServerLimits& limits) {
  return {.body_bytes = limits.body,
          .pixels = limits.pixels,
          .candidates = limits.candidates,
          .hits = limits.hits,
          .work = limits.work,
          .seconds = limits.answer_seconds,
          .json_depth = kBodyLimits.depth,
          .json_names = kBodyLimits.names,
          .json_names_of_object = kBodyLimits.names_of_object,
          .json_text_bytes = kBodyLimits.string,
          .json_values = kBodyLimits.values,
          .metadata_bytes = kMostMetadataBytes,
          .metadata_depth = kMetadataLimits.depth,
          .metadata_names = kMetadataLimits.names,
          .metadata_text_bytes = kMetadataLimits.string,
          .metadata_values = kMetadataLimits.values};
}

Answered<GalleryAnswer> about_gallery(Service& service, const Call& call, const NoFields&) {
  const GridFormat& format = service.gallery->format();
  const ServerParams& params = service.params;
  const GridShape shape = shape_of_cells(format.cells_per_grid);
  const std::unique_ptr<GridSnapshot> snapshot = service.gallery->snapshot();
  GalleryAnswer answer;
  answer.name = name_of_gallery(*service.gallery);
  answer.items = snapshot->size();
  answer.rows = shape.rows;
  answer.cols = shape.cols;
  answer.dim = format.dim;
  answer.type = name_of(format.type);
  answer.photos = service.embedder != nullptr;
  answer.changes = call.may_change;
  answer.originals = params.originals == Originals::shown;
  answer.exact = is_available(Backend::exact);
  answer.crop = crop_of(format);
  for (const auto& [label, count] : service.catalogue.labels(*snapshot)) {
    answer.labels.push_back({label.empty() ? std::nullopt : std::optional(label), count});
  }
  for (const MarginalRule rule : kMarginalRules) answer.marginals.push_back(name_of(rule));
  answer.defaults = {name_of(params.match.marginals),
                     params.match.transport.lambda,
                     params.match.transport.mass,
                     name_of(params.match.prior),
                     params.weights.global,
                     params.weights.structural,
                     kDefaultTop,
                     params.rerank};
  answer.limits = limits_of(params.limits);
  answer.version = kVersion;
  return Answered(answer);
}

// Whether the gallery can be read at the moment, and what it holds then.
std::string metrics_of_gallery(const Service& service) {
  const auto gauge = [](const std::string& name, const std::string& meaning, std::uint64_t value) {
    return Metrics::line(name, "gauge", meaning, static_cast<double>(value));
  };
  constexpr const char* kReadable = "diml_gallery_readable";
  constexpr const char* kAbout = "1 if the gallery can be read, 0 while its database is away.";
  try {
    const GridStore::Space space = service.gallery->space();
    std::string text = gauge("diml_items", "Images in the gallery.", service.search.size());
    text += gauge(kReadable, kAbout, 1);
    text += gauge("diml_gallery_bytes", "Size of the gallery's file.", space.used);
    text += gauge("diml_gallery_free_bytes", "Of these, free for reuse.", space.free);
    if (space.most > 0) {
      text += gauge("diml_gallery_most_bytes", "What it can grow to in this process.", space.most);
    }
    return text;
  } catch (const Error&) {
    return gauge(kReadable, kAbout, 0);
  }
}

Reply metrics(Service& service, const Call&, const NoFields&) {
  const auto count = [](std::size_t value) { return static_cast<double>(value); };
  const auto gauge = [&](const std::string& name, const std::string& meaning, double value) {
    return Metrics::line(name, "gauge", meaning, value);
  };
  std::string text = service.metrics.text();
  text += metrics_of_gallery(service);
  text += gauge("diml_connections", "Open connections.", count(service.connections));
  text += Metrics::line("diml_connections_refused_total", "counter",
                        "Clients for whom there was no place.", count(service.refused_connections));
  text += Metrics::line("diml_connections_closed_total", "counter",
                        "Waiting connections that made room for others.",
                        count(service.closed_connections));
  text += gauge("diml_writing_fails", "1 if the last change of the gallery failed.",
                service.writes.fault().empty() ? 0.0 : 1.0);
  text += gauge("diml_requests_running", "Requests that are running.",
                count(service.workers.running()));
  text += gauge("diml_requests_waiting", "Requests that wait for a worker.",
                count(service.workers.waiting()));
  text += Metrics::line("diml_last_resorts_total", "counter",
                        "Connections closed without an answer, for want of memory or threads.",
                        count(service.last_resorts));
  if (service.embedder) {
    const EmbedQueue::Count done = service.embedder->count();
    text += Metrics::line("diml_embedded_images_total", "counter", "Photos that were embedded.",
                          count(done.images));
    text += Metrics::line("diml_embed_batches_total", "counter", "Forward passes of the network.",
                          count(done.batches));
    text += gauge("diml_photos_waiting", "Photos that wait for the network.", count(done.waiting));
  }
  text += gauge("process_resident_memory_bytes", "Memory of the process.", resident_memory());
  return {.type = "text/plain; version=0.0.4", .body = text};
}

}  // namespace

std::vector<Route> health_routes() {
  return {
      route("GET", "/v1/gallery", about_gallery,
            {.summary = "The gallery: the shape of its grids, its labels, the limits"}),
      route("GET", "/healthz", healthz,
            {.summary = "Whether the process answers",
             .access = Access::open,
             .lane = Lane::monitoring}),
      route("GET", "/readyz", readyz,
            {.summary = "Whether the server accepts requests, and whether changes succeed",
             .access = Access::open,
             .lane = Lane::monitoring}),
      route("GET", "/metrics", metrics,
            {.summary = "Counts and latencies, for Prometheus",
             .answer_type = "text/plain",
             .lane = Lane::monitoring}),
      route("GET", "/openapi.json", openapi, {.summary = "This document", .access = Access::open}),
  };
}

}  // namespace diml::server
