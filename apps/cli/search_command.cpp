#include <algorithm>
#include <cstdio>
#include <iostream>

#include "base/npy.h"
#include "base/shown_text.h"
#include "base/stopwatch.h"
#include "contact_sheet.h"
#include "diml/error.h"
#include "diml/searcher.h"
#include "engine/gallery_files.h"
#include "failure.h"
#include "gallery_command.h"
#include "hit_files.h"
#include "interrupt.h"
#include "messages.h"
#include "options.h"
#include "progress_bar.h"
#include "search/name_json.h"
#include "search_queries.h"
#include "where_hint.h"
#if DIML_HAS_NETWORKS
#include "calibrated.h"
#include "diml/gallery_images.h"
#include "network_options.h"
#endif

namespace diml::cli {
namespace {

struct SearchCommand {
  std::string gallery;
  std::vector<std::string> images;
  bool skip_bad = false;
  std::vector<std::int64_t> ids;
  std::string embeddings;
  CellLayout layout = CellLayout::automatic;  // of their cells
  std::vector<std::string> where;
  std::size_t top = 10;
  std::size_t rerank = 100;
  std::string first_stage = "exact";
  MatchOptions match;
  ScoreWeights weights{};
  std::string json;
  std::string html;
  std::string csv;
  std::string jsonl;
#if DIML_HAS_NETWORKS
  NetworkOptions network;
  bool no_calibration = false;
#endif
  const CLI::App* command = nullptr;  // tells which options were given

  void run();

 private:
  void check() const;
  void ask(const GridStore& from, const GridSnapshot& snapshot, const TakeBatch& take,
           const Progress& progress);
  void tell_what_is_left_out(const GridStore& from) const;
  bool prints() const { return json != "-" && csv.empty() && jsonl.empty(); }

  Filter filter_;
  std::size_t admitted_ = 0;
  std::size_t asked_ = 0;
  std::size_t without_hits_ = 0;
  std::vector<std::string> bad_;  // why photos could not be read
};

void SearchCommand::check() const {
  const int ways = (images.empty() ? 0 : 1) + (ids.empty() ? 0 : 1) + (embeddings.empty() ? 0 : 1);
  if (ways != 1) {
    throw Error(
        "name the queries in one way: image files or a folder, --id 17, or --embeddings PREFIX");
  }
  if ((json == "-") + (csv == "-") + (jsonl == "-") > 1) {
    throw Error(
        "standard output takes one of --json, --csv and --jsonl: name files for the others");
  }
  if (top < 1) throw Error("--top must be at least 1");
}

void SearchCommand::ask(const GridStore& from, const GridSnapshot& snapshot, const TakeBatch& take,
                        const Progress& progress) {
  if (!ids.empty()) return ask_items(snapshot, ids, take, progress);
  if (!embeddings.empty()) return ask_embeddings(from, embeddings, layout, take, progress);
#if DIML_HAS_NETWORKS
  const std::vector<std::string> photos = photos_of(images);
  Embedder embedder = open_embedder_of(from, network.with_threads(match.threads));
  // Of one photo nothing is left to search with: the error is the same with --skip-bad.
  const bool skips = skip_bad || photos.size() == 1;
  ask_photos(embedder, from.format().type, photos,
             {skips ? BadImages::skip : BadImages::stop, !html.empty()}, take, progress, bad_);
  if (bad_.size() == photos.size()) {
    throw Error(bad_.front() +
                (photos.size() > 1 ? " (and none of the other photos can be read)" : ""));
  }
#else
  throw Error(ErrorKind::unsupported,
              "this build does not embed photos: search by --id or --embeddings");
#endif
}

Json to_json(const Hit& hit, std::size_t rank) {
  Json json = {{"rank", rank}, {"id", hit.item.id}};
  put_name(json, "path", hit.item.path);
  json["label"] = nullptr;
  if (!hit.item.label.empty()) put_name(json, "label", hit.item.label);
  json["global"] = hit.global;
  json["structural"] = hit.structural ? Json(*hit.structural) : Json(nullptr);
  json["total"] = hit.total;
  json["first_rank"] = hit.first_rank;
  // Not parsed as Json, whose time grows with the square of the names.
  json["metadata"] = nlohmann::json::parse(hit.item.metadata);
  return json;
}

constexpr int kWidestLabel = 24;  // a longer one moves its line

void print_hits(const std::string& name, const std::vector<Hit>& hits) {
  int width = 6;
  for (const Hit& hit : hits) {
    width = std::clamp(static_cast<int>(text_length(shown(hit.item.label))), width, kWidestLabel);
  }
  std::printf("%s\n%4s %8s %8s %8s %8s %*s  %s\n", shown(name).c_str(), "", "total", "global",
              "struct.", "id", width, "label", "image");
  for (std::size_t k = 0; k < hits.size(); ++k) {
    const Hit& hit = hits[k];
    char structural[16] = "-";
    if (hit.structural) {
      std::snprintf(structural, sizeof(structural), "%.4f", static_cast<double>(*hit.structural));
    }
    const std::string label = hit.item.label.empty() ? "-" : shown(hit.item.label);
    // printf counts bytes, the column counts characters.
    const int padded = width + static_cast<int>(label.size() - text_length(label));
    std::printf("%4zu %8.4f %8.4f %8s %8lld %*s  %s\n", k + 1, static_cast<double>(hit.total),
                static_cast<double>(hit.global), structural, static_cast<long long>(hit.item.id),
                padded, label.c_str(), shown(hit.item.path).c_str());
  }
}

void SearchCommand::tell_what_is_left_out(const GridStore& from) const {
#if DIML_HAS_NETWORKS
  report_bad(bad_, asked_ + bad_.size(), "");
#endif
  if (!filter_.empty() && admitted_ == 0) {
    tell_at_end("no image of " + shown_gallery(gallery) + " satisfies " + filter_.text() +
                ": 0 of " + std::to_string(from.snapshot()->size()) + " were searched" +
                hint_of_conditions(filter_, *from.snapshot()));
  } else if (without_hits_ > 0) {
    tell_at_end(std::to_string(without_hits_) + " of " + std::to_string(asked_) +
                " queries have no hits");
  }
}

void SearchCommand::run() {
  check();
  filter_ = Filter(where);
  (void)match.params();
  expect_own_files(images, {json, html, csv, jsonl});
  JsonOutput output(json);
  HitFiles files(csv, jsonl);
  std::unique_ptr<OutputFile> page;
  if (!html.empty()) page = std::make_unique<OutputFile>(html);

  Stopwatch watch;
  const std::shared_ptr<GridStore> from = open_gallery(gallery);
#if DIML_HAS_NETWORKS
  if (const auto calibration = calibration_of(from->format())) {
    const std::size_t side = shape_of_cells(from->format().cells_per_grid).rows;
    const auto depth = use_calibration(calibration, side, *command, {match.match, weights});
    if (depth) rerank = *depth;
  }
#endif
  const Searcher search(from, {first_stage, match.backend, match.threads});
  // New images are compared one by one: that costs time, but loses no hits.
  if (const std::size_t changed = search.beside_source(); changed > search.size() / 4) {
    say(LogLevel::warning, "diml search: " + std::to_string(changed) +
                               " images were added or removed since the " + search.source() +
                               " index was made: 'diml index cache " + from->name() +
                               "' makes a new one");
  }
  admitted_ = filter_.empty() ? search.size() : search.admitted(filter_)->size();
  const double open_seconds = watch.restart();
  const std::unique_ptr<GridSnapshot> snapshot = from->snapshot();
  double search_seconds = 0.0;
  Json queries = Json::array();
  std::vector<SheetQuery> sheet;
  const ErasableBar bar = erasable_bar("search");
  const auto take = [&](const QueryBatch& batch) {
    if (prints()) bar.erase();
    const Stopwatch of_batch;
    const auto found =
        search.search(batch.grids, top, batch.ids, {rerank, match.params(), weights}, filter_);
    search_seconds += of_batch.seconds();
    for (std::size_t q = 0; q < found.size(); ++q) {
      Json one = Json::object();
      put_name(one, "query", batch.names[q]);
      if (!batch.ids.empty()) one["id"] = batch.ids[q];
      one["hits"] = Json::array();
      for (std::size_t k = 0; k < found[q].size(); ++k) {
        one["hits"].push_back(to_json(found[q][k], k + 1));
      }
      files.write(one);
      if (!json.empty()) queries.push_back(std::move(one));
      if (page) {
        sheet.push_back({batch.names[q], batch.thumbnails[q], {}});
        for (const Hit& hit : found[q]) {
          sheet.back().hits.push_back({hit, snapshot->contains(hit.item.id)
                                                ? snapshot->thumbnail(hit.item.id)
                                                : std::vector<std::uint8_t>()});
        }
      }
      if (prints()) {
        if (asked_ > 0) std::printf("\n");
        print_hits(batch.names[q], found[q]);
      }
      ++asked_;
      without_hits_ += found[q].empty() ? 1 : 0;
    }
  };
  {
    const Interrupt interrupt;
    or_stopped([&] { ask(*from, *snapshot, take, bar.progress.with(Interrupt::asked)); },
               [&] {
                 return "stopped after " + std::to_string(asked_) +
                        " queries: no file was written, the same command starts again";
               });
  }
  Json report = {{"gallery", from->name()}, {"items", search.size()}};
  if (!filter_.empty()) {
    report["where"] = where;
    report["admitted"] = admitted_;
  }
  if (skip_bad) report["skipped"] = bad_.size();
  report["queries"] = std::move(queries);
  report["seconds"] = {{"open", open_seconds},
                       {"embed", watch.seconds() - search_seconds},
                       {"search", search_seconds}};
  files.commit();
  output.write(report);
  if (page) {
    page->write(contact_sheet(from->name(), sheet));
    page->commit();
  }
  tell_what_is_left_out(*from);
  if (!files.names().empty() && json != "-" && csv != "-" && jsonl != "-") {
    std::printf("%zu queries, %zu hits each at most: %s\n", asked_, top,
                shown(files.names()).c_str());
  }
}

}  // namespace

Run define_search(CLI::App& command) {
  auto options = std::make_shared<SearchCommand>();
  command.add_option("gallery", options->gallery, kGalleryHelp)->required();
  command.add_option(
      "images", options->images,
      "Image files as queries, folders of them, or text files with one path per line");
  command
      .add_option(
          "--where", options->where,
          "Search only images that satisfy this, such as label=pug, 'price<=20', 'colour in "
          "red,blue', 'price exists' or 'price missing'; may be repeated: all must hold")
      ->allow_extra_args(false);  // the next word is not a second condition, but may be an image
  command.add_flag("--skip-bad", options->skip_bad,
                   "Skip queries that cannot be read, and list them");
  command.add_option("--id", options->ids, "Images of the gallery as queries, by their ids")
      ->delimiter(',');
  command.add_option("--embeddings", options->embeddings,
                     "PREFIX of grids as queries, as 'diml embed' writes them; PREFIX.cells.npy "
                     "may be a network's feature maps");
  define_layout(command, options->layout);
  command.add_option("--top", options->top, "Hits per query");
  command.add_option("--rerank", options->rerank, "Candidates that are matched structurally");
  command.add_option(
      "--first-stage", options->first_stage,
      "exact, cuda, or an index built by 'diml index cache': index, or pgvector in PostgreSQL");
#if DIML_HAS_NETWORKS
  options->network.define_running_of_gallery(command);
  define_no_calibration(command, options->no_calibration);
#endif
  options->command = &command;
  options->match.define(command);
  define_weights(command, options->weights);
  command.add_option("--json", options->json, "The hits for programs; - for standard output");
  command.add_option("--html", options->html, "A page with pictures, all in one file");
  command.add_option("--csv", options->csv,
                     "A table for many queries, a row for each hit; - for standard output");
  command.add_option("--jsonl", options->jsonl,
                     "JSON Lines for many queries, a line for each; - for standard output");
  return [options] { options->run(); };
}

}  // namespace diml::cli
