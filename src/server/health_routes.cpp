// About the server itself: what it serves, how it is, how busy.

#include <filesystem>

#include "diml/explain.h"
#include "diml/version.h"
#include "openapi.h"
#include "routes.h"

namespace diml::server {
namespace {

Reply healthz(Service&, const Call&) { return json_reply({{"status", "ok"}}); }

Reply readyz(Service& service, const Call&) {
  if (service.stopping) throw Refusal(kBusy, "the server is about to stop");
  (void)service.gallery.snapshot().revision();  // throws where the gallery cannot be read
  return json_reply({{"status", "ready"}});
}

Reply openapi(Service&, const Call&) {
  static const std::string text = openapi_document().dump(2);
  return {.body = text};
}

Reply about_gallery(Service& service, const Call&) {
  const GalleryFormat& format = service.gallery.format();
  const ServerParams& params = service.params;
  const GridShape shape = shape_of_cells(format.cells_per_grid);
  const std::shared_ptr<const Catalogue> all = service.catalogue();
  Json labels = Json::array();
  for (const auto& [label, ids] : all->by_label) {
    labels.push_back({{"label", label}, {"count", ids.size()}});
  }
  const std::filesystem::path folder =
      std::filesystem::path(service.gallery.folder()).lexically_normal();
  Json json = {
      {"name", (folder.has_filename() ? folder : folder.parent_path()).filename().string()},
      {"items", all->ids.size()},
      {"rows", shape.rows},
      {"cols", shape.cols},
      {"dim", format.dim},
      {"type", name_of(format.type)},
      {"photos", service.embedder != nullptr},
      {"changes", params.changes == ItemChanges::allowed},
      {"exact", is_available(Solver::exact)},
      {"labels", std::move(labels)},
      {"defaults",
       {{"marginals", name_of(params.match.marginals)},
        {"lambda", params.match.transport.lambda},
        {"top", 10},
        {"rerank", 100}}},
      {"limits",
       {{"body_bytes", params.limits.body},
        {"pixels", params.limits.pixels},
        {"candidates", params.limits.candidates},
        {"hits", params.limits.hits}}},
      {"version", kVersion}};
  if (format.embedding.contains("crop") && format.embedding.contains("resize")) {
    Preprocessing seen;
    from_text({{"crop", format.embedding.at("crop")}, {"resize", format.embedding.at("resize")}},
              seen);
    json["crop"] = static_cast<double>(seen.crop) / static_cast<double>(seen.resize);
  }
  return json_reply(json);
}

Reply metrics(Service& service, const Call&) {
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
      {.method = "GET",
       .path = "/v1/gallery",
       .summary = "What is served: the shape of its grids, its labels, the limits",
       .answer = "Gallery",
       .handle = about_gallery},
      {.method = "GET",
       .path = "/healthz",
       .access = Access::open,
       .summary = "Whether the process answers",
       .answer = "Health",
       .handle = healthz},
      {.method = "GET",
       .path = "/readyz",
       .access = Access::open,
       .summary = "Whether it takes requests",
       .answer = "Health",
       .refusals = {503},
       .handle = readyz},
      {.method = "GET",
       .path = "/metrics",
       .summary = "Counts and latencies, for Prometheus",
       .answer_type = "text/plain",
       .answer = "",
       .handle = metrics},
      {.method = "GET",
       .path = "/openapi.json",
       .access = Access::open,
       .summary = "This document",
       .answer_type = "application/json",
       .answer = "",
       .handle = openapi},
  };
}

}  // namespace diml::server
