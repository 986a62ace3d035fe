// About the server itself: what it serves, how it is, how busy.

#include <filesystem>

#include "diml/explain.h"
#include "diml/version.h"
#include "openapi.h"
#include "routes.h"

namespace diml::server {
namespace {

Answered<HealthAnswer> healthz(Service&, const Call&, const NoFields&) {
  return Answered(HealthAnswer{"ok"});
}

Answered<HealthAnswer> readyz(Service& service, const Call&, const NoFields&) {
  if (service.stopping) throw Refusal(kBusy, "the server is about to stop");
  (void)service.gallery->snapshot()->revision();  // throws where the gallery cannot be read
  return Answered(HealthAnswer{"ready"});
}

Reply openapi(Service& service, const Call&, const NoFields&) {
  return {.body = openapi_document(service.params).dump(2)};
}

std::string name_of_gallery(const GridStore& gallery) {
  const auto folder = std::filesystem::path(gallery.name()).lexically_normal();
  return (folder.has_filename() ? folder : folder.parent_path()).filename().string();
}

// The side of what the network sees, of the photo's short side; 1 where the gallery does not know.
double crop_of(const GridFormat& format) {
  if (!format.embedding.contains("crop") || !format.embedding.contains("resize")) return 1.0;
  Preprocessing seen;
  from_text({{"crop", format.embedding.at("crop")}, {"resize", format.embedding.at("resize")}},
            seen);
  return static_cast<double>(seen.crop) / static_cast<double>(seen.resize);
}

Answered<GalleryAnswer> about_gallery(Service& service, const Call&, const NoFields&) {
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
  answer.changes = params.changes == ItemChanges::allowed;
  answer.exact = is_available(Solver::exact);
  answer.crop = crop_of(format);
  for (const auto& [label, count] : service.catalogue.labels(*snapshot)) {
    answer.labels.push_back({label, count});
  }
  answer.defaults = {name_of(params.match.marginals), params.match.transport.lambda, kDefaultTop,
                     kDefaultRerank};
  answer.limits = {params.limits.body, params.limits.pixels, params.limits.candidates,
                   params.limits.hits};
  answer.version = kVersion;
  return Answered(answer);
}

Reply metrics(Service& service, const Call&, const NoFields&) {
  const auto count = [](std::size_t value) { return static_cast<double>(value); };
  const auto gauge = [&](const std::string& name, const std::string& meaning, double value) {
    return Metrics::line(name, "gauge", meaning, value);
  };
  std::string text = service.metrics.text();
  text += gauge("diml_items", "Images that are searched.", count(service.search.size()));
  text += gauge("diml_connections", "Open connections.", count(service.connections));
  text += gauge("diml_requests_running", "Requests that are computed.",
                count(service.workers.running()));
  text += gauge("diml_requests_waiting", "Requests that wait for a worker.",
                count(service.workers.waiting()));
  if (service.embedder) {
    const EmbedQueue::Count done = service.embedder->count();
    text += Metrics::line("diml_embedded_images_total", "counter",
                          "Photos that went through the network.", count(done.images));
    text += Metrics::line("diml_embed_batches_total", "counter", "Its forward passes.",
                          count(done.batches));
    text += gauge("diml_photos_waiting", "Photos that wait for it.", count(done.waiting));
  }
  text += gauge("process_resident_memory_bytes", "Memory of the process.", resident_memory());
  return {.type = "text/plain; version=0.0.4", .body = text};
}

}  // namespace

std::vector<Route> health_routes() {
  return {
      route("GET", "/v1/gallery", about_gallery,
            {.summary = "What is served: the shape of its grids, its labels, the limits"}),
      route("GET", "/healthz", healthz,
            {.summary = "Whether the process answers", .access = Access::open}),
      route("GET", "/readyz", readyz,
            {.summary = "Whether it takes requests", .access = Access::open}),
      route("GET", "/metrics", metrics,
            {.summary = "Counts and latencies, for Prometheus", .answer_type = "text/plain"}),
      route("GET", "/openapi.json", openapi, {.summary = "This document", .access = Access::open}),
  };
}

}  // namespace diml::server
