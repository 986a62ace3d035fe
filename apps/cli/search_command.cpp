#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>

#include "contact_sheet.h"
#include "diml/error.h"
#include "diml/gallery_files.h"
#include "diml/searcher.h"
#include "gallery_command.h"
#include "options.h"
#if DIML_HAS_NETWORKS
#include "gallery_model.h"
#endif

namespace diml::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What is asked for: grids, and what they are called.
struct Queries {
  GridSet grids;  // of images and files; those of the gallery itself lie in it
  std::vector<std::string> names;
  std::vector<std::vector<std::uint8_t>> thumbnails;
  std::vector<std::int64_t> exclude;  // themselves, where they are in the gallery
};

struct SearchCommand {
  std::string gallery;
  std::vector<std::string> images;
  std::vector<std::int64_t> ids;
  std::string embeddings;
  std::size_t top = 10;
  std::size_t rerank = 100;
  std::string first_stage = "exact";
  MatchOptions match;
  ScoreWeights weights{};
  std::string json;
  std::string html;
#if DIML_HAS_NETWORKS
  NetworkOptions network;
#endif

  void run();

 private:
  void check() const;
  Queries of_images(const GridStore& from) const;
  Queries of_files(const GridStore& from) const;
};

void SearchCommand::check() const {
  const int ways = (images.empty() ? 0 : 1) + (ids.empty() ? 0 : 1) + (embeddings.empty() ? 0 : 1);
  if (ways != 1) {
    throw Error("name what to look for, in one way: image files, --id 17, or --embeddings PREFIX");
  }
  if (top < 1) throw Error("--top must be at least 1");
}

Queries SearchCommand::of_images([[maybe_unused]] const GridStore& from) const {
#if DIML_HAS_NETWORKS
  OpenedEmbedder opened = open_embedder_of(from, settings_of(network, match.threads));
  Queries queries;
  std::vector<Crop> crops;
  for (const std::string& path : images) {
    const Image image = read_image(path, {.orientation = Orientation::exif});
    queries.thumbnails.push_back(make_thumbnail(image));
    crops.push_back(opened.embedder.crop(image));
  }
  queries.names = images;
  queries.grids = opened.embedder.embed(crops, from.format().type);
  return queries;
#else
  throw Error(ErrorKind::unsupported,
              "this build does not embed photos: search by --id or --embeddings");
#endif
}

Queries SearchCommand::of_files(const GridStore& from) const {
  const EmbeddingSource source(embeddings);
  Queries queries;
  queries.grids = GridSet(source.size(), source.cells_per_grid(), source.dim(), from.format().type);
  for (std::size_t i = 0; i < source.size(); ++i) {
    source.read(i, queries.grids, i);
    queries.names.push_back(source.path_of(i));
  }
  queries.thumbnails.resize(source.size());
  return queries;
}

Json to_json(const Hit& hit, std::size_t rank) {
  return {{"rank", rank},
          {"id", hit.item.id},
          {"path", hit.item.path},
          {"label", hit.item.label},
          {"global", hit.global},
          {"structural", hit.structural ? Json(*hit.structural) : Json(nullptr)},
          {"total", hit.total},
          {"metadata", Json::parse(hit.item.metadata)}};
}

void print_hits(const std::string& name, const std::vector<Hit>& hits) {
  std::printf("%s\n%4s %8s %8s %8s %8s %6s  %s\n", name.c_str(), "", "total", "global", "struct.",
              "id", "label", "image");
  for (std::size_t k = 0; k < hits.size(); ++k) {
    const Hit& hit = hits[k];
    char structural[16] = "-";
    if (hit.structural) {
      std::snprintf(structural, sizeof(structural), "%.4f", static_cast<double>(*hit.structural));
    }
    const std::string label = hit.item.label < 0 ? "-" : std::to_string(hit.item.label);
    std::printf("%4zu %8.4f %8.4f %8s %8lld %6s  %s\n", k + 1, static_cast<double>(hit.total),
                static_cast<double>(hit.global), structural, static_cast<long long>(hit.item.id),
                label.c_str(), hit.item.path.c_str());
  }
}

void SearchCommand::run() {
  check();
  (void)match.params();
  expect_own_files(images, {json, html});
  JsonOutput output(json);
  std::unique_ptr<OutputFile> page;
  if (!html.empty()) page = std::make_unique<OutputFile>(html);

  auto start = Clock::now();
  const std::shared_ptr<GridStore> from = open_gallery(gallery);
  const Searcher search(from, {first_stage, match.matcher, match.threads});
  // The new ones are compared one by one: that costs time, not hits.
  if (const std::size_t changed = search.beside_source(); changed > search.size() / 4) {
    std::cerr << "diml search: " << changed << " images have come or gone since the "
              << search.source() << " index was made: 'diml index cache " << gallery
              << "' makes a new one\n";
  }
  const double open_seconds = seconds_since(start);
  start = Clock::now();
  const std::unique_ptr<GridSnapshot> snapshot = from->snapshot();
  Queries queries;
  std::vector<GridView> stored;
  if (!ids.empty()) {
    stored = snapshot->grids(ids);
    queries.exclude = ids;
    for (const std::int64_t id : ids) {
      queries.names.push_back(snapshot->item(id).path);
      queries.thumbnails.push_back(snapshot->thumbnail(id));
    }
  } else {
    queries = embeddings.empty() ? of_images(*from) : of_files(*from);
  }
  const double embed_seconds = seconds_since(start);
  start = Clock::now();
  const auto found = search.search(stored.empty() ? queries.grids.view() : set_of(stored), top,
                                   queries.exclude, {rerank, match.params(), weights});
  const double search_seconds = seconds_since(start);

  Json report = {{"gallery", gallery}, {"items", search.size()}};
  report["queries"] = Json::array();
  for (std::size_t q = 0; q < found.size(); ++q) {
    Json one = {{"query", queries.names[q]}};
    if (!ids.empty()) one["id"] = ids[q];
    one["hits"] = Json::array();
    for (std::size_t k = 0; k < found[q].size(); ++k) {
      one["hits"].push_back(to_json(found[q][k], k + 1));
    }
    report["queries"].push_back(std::move(one));
  }
  report["seconds"] = {
      {"open", open_seconds}, {"embed", embed_seconds}, {"search", search_seconds}};
  output.write(report);
  if (page) {
    std::vector<SheetQuery> sheet;
    for (std::size_t q = 0; q < found.size(); ++q) {
      sheet.push_back({queries.names[q], queries.thumbnails[q], {}});
      for (const Hit& hit : found[q]) {
        sheet.back().hits.push_back({hit, snapshot->contains(hit.item.id)
                                              ? snapshot->thumbnail(hit.item.id)
                                              : std::vector<std::uint8_t>()});
      }
    }
    page->write(contact_sheet(gallery, sheet));
    page->commit();
  }
  if (output.takes_standard_output()) return;
  for (std::size_t q = 0; q < found.size(); ++q) {
    if (q > 0) std::printf("\n");
    print_hits(queries.names[q], found[q]);
  }
}

}  // namespace

Run define_search(CLI::App& command) {
  auto options = std::make_shared<SearchCommand>();
  command.add_option("gallery", options->gallery, "The gallery's folder")->required();
  command.add_option("images", options->images, "Image files to look for");
  command.add_option("--id", options->ids, "Images of the gallery to look for, by their ids")
      ->delimiter(',');
  command.add_option("--embeddings", options->embeddings,
                     "PREFIX of grids to look for, as 'diml embed' writes them");
  command.add_option("--top", options->top, "Hits of each")->capture_default_str();
  command.add_option("--rerank", options->rerank, "Candidates that are matched structurally")
      ->capture_default_str();
  command
      .add_option("--first-stage", options->first_stage,
                  "exact, cuda, or index for the one that 'diml index cache' made")
      ->capture_default_str();
#if DIML_HAS_NETWORKS
  define_running(command, options->network);
#endif
  options->match.define(command);
  define_weights(command, options->weights);
  command.add_option("--json", options->json, "The hits for programs; - for standard output");
  command.add_option("--html", options->html, "A page with pictures, all in one file");
  return [options] { options->run(); };
}

}  // namespace diml::cli
