#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>

#include "base/temporary_folder.h"
#include "base/threads.h"
#include "bench_tools.h"
#include "command.h"
#include "diml/error.h"
#include "diml/gallery.h"
#include "diml/generated.h"
#include "diml/searcher.h"
#include "options.h"
#include "progress_bar.h"

namespace diml::cli {
namespace {

struct BenchGalleryCommand {
  std::size_t images = 100'000;
  std::size_t grid = 4;
  std::size_t dim = 128;
  std::size_t rerank = 100;
  std::string type = "float16";
  std::string at;  // "": a folder that is removed in the end
  std::string first_stage = "exact";
  int threads = 0;
  std::string json;

  void run() const;

 private:
  std::shared_ptr<GridStore> made(const std::string& name, double& fill_seconds) const;
  std::vector<double> take_in_times(GridStore& gallery, const Searcher& search) const;
};

constexpr std::size_t kAtOnce = 10'000;
constexpr std::size_t kOpens = 3;
constexpr std::size_t kQueries = 200;
constexpr std::size_t kAdded = 50;

// In parts: a large gallery need not fit into memory. fill_seconds: of storing alone.
std::shared_ptr<GridStore> BenchGalleryCommand::made(const std::string& name,
                                                     double& fill_seconds) const {
  const std::shared_ptr<GridStore> gallery = create_gallery(
      name, {.cells_per_grid = grid * grid, .dim = dim, .type = cell_type_from(type)});
  const Progress bar = progress_bar("make");
  for (std::size_t first = 0; first < images; first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, images - first);
    const GeneratedGrids part = generate_grids({.size = count,
                                                .classes = std::max<std::size_t>(1, count / 20),
                                                .grid = grid,
                                                .dim = dim,
                                                .seed = first,
                                                .type = cell_type_from(type)});
    std::vector<NewItem> items;
    for (std::size_t i = 0; i < count; ++i) {
      items.push_back({.path = "creature:" + std::to_string(first + i),
                       .label = std::to_string(part.labels[i])});
    }
    fill_seconds += seconds_of([&] { gallery->add(items, part.grids.view()); });
    bar(first + count, images);
  }
  return gallery;
}

// The time from the end of an add() until a search finds the added image.
std::vector<double> BenchGalleryCommand::take_in_times(GridStore& gallery,
                                                       const Searcher& search) const {
  const GeneratedGrids more = generate_grids({.size = kAdded,
                                              .classes = 1,
                                              .grid = grid,
                                              .dim = dim,
                                              .seed = images + 1,
                                              .type = cell_type_from(type)});
  std::vector<double> seconds;
  std::vector<std::int64_t> ids;
  const Progress bar = progress_bar("add");
  for (std::size_t i = 0; i < kAdded; ++i) {
    const GridView one = more.grids[i];
    const GridSetView added = set_of({&one, 1});
    const std::vector<NewItem> item = {{.path = "added:" + std::to_string(i)}};
    ids.push_back(gallery.add(item, added)[0]);
    seconds.push_back(seconds_of([&] { search.refresh(); }));
    if (search.search(added, 1, {}, {.rerank = 0})[0][0].item.id != ids.back()) {
      throw Error(ErrorKind::internal, "the search did not find an added image");
    }
    bar(i + 1, kAdded);
  }
  gallery.remove(ids);  // as it was, for the next call
  return seconds;
}

void BenchGalleryCommand::run() const {
  if (images <= rerank) throw Error("--images must be more than --rerank");
  JsonOutput output(json);
  const TemporaryFolder scratch;
  const std::string name = at.empty() ? scratch.path() + "/gallery" : at;
  const bool is_there = !at.empty() && gallery_exists(at);
  double build = 0.0;
  double fill = 0.0;
  if (!is_there) build = seconds_of([&] { made(name, fill); });
  const std::shared_ptr<GridStore> gallery = open_gallery(name, StoreAccess::write);
  const std::uint64_t bytes = gallery->space().used;
  if (const std::size_t items = gallery->snapshot()->size(); items != images) {
    throw Error(ErrorKind::conflict, gallery->name() + ": has " + std::to_string(items) +
                                         " images, not " + std::to_string(images) +
                                         ": name a new gallery, or take as many --images");
  }

  std::vector<double> opens;
  std::unique_ptr<Searcher> search;
  const Progress opening = progress_bar("open");
  for (std::size_t round = 0; round < kOpens; ++round) {
    search.reset();
    opens.push_back(seconds_of([&] {
      search =
          std::make_unique<Searcher>(open_gallery(name, StoreAccess::write),
                                     SearcherParams{.source = first_stage, .threads = threads});
    }));
    opening(round + 1, kOpens);
  }

  const auto matcher = make_matcher(Backend::fastest, {1});
  std::vector<double> reranks;
  std::vector<double> searches;
  std::vector<float> scores(rerank);
  const Progress searching = progress_bar("search");
  for (std::size_t q = 0; q < kQueries; ++q) {
    const auto id = static_cast<std::int64_t>(q * images / kQueries);
    const std::vector<std::int64_t> itself = {id};
    const std::unique_ptr<GridSnapshot> snapshot = gallery->snapshot();
    const GridView own = snapshot->grid(id);
    const GridSetView query = set_of({&own, 1});
    std::vector<Hit> hits;
    searches.push_back(
        seconds_of([&] { hits = search->search(query, rerank, itself, {.rerank = rerank})[0]; }));
    // The second stage alone, on one core: grids out of the file, structural similarities.
    std::vector<std::int64_t> ids;
    std::vector<Pair> pairs;
    for (std::size_t k = 0; k < hits.size(); ++k) {
      ids.push_back(hits[k].item.id);
      pairs.push_back({0, static_cast<std::int64_t>(k)});
    }
    reranks.push_back(seconds_of([&] {
      const std::vector<GridView> candidates = snapshot->grids(ids);
      matcher->score({query, set_of(candidates), pairs}, {}, scores);
    }));
    searching(q + 1, kQueries);
  }
  const std::vector<double> taken_in = take_in_times(*gallery, *search);
  const auto least = [](const std::vector<double>& of) {
    return *std::min_element(of.begin(), of.end());
  };
  const int used = thread_count(threads);
  output.write(
      {{"images", images},
       {"grid", grid},
       {"dim", dim},
       {"type", type},
       {"threads", used},
       {"bytes", bytes},
       {"gallery", at.empty() ? Json() : Json(gallery->name())},
       {"first_stage", first_stage},
       {"build_seconds", is_there ? Json() : Json(build)},
       {"fill_seconds", is_there ? Json() : Json(fill)},
       {"open_seconds", {{"least", least(opens)}, {"median", median(opens)}}},
       {"rerank_ms", {{"least", 1e3 * least(reranks)}, {"median", 1e3 * median(reranks)}}},
       {"search_ms", {{"least", 1e3 * least(searches)}, {"median", 1e3 * median(searches)}}},
       {"take_in_ms", {{"least", 1e3 * least(taken_in)}, {"median", 1e3 * median(taken_in)}}}});
  if (output.takes_standard_output()) return;
  std::printf("%zu generated grids of %zu x %zu x %zu, %s cells: %.0f MB on disk", images, grid,
              grid, dim, type.c_str(), static_cast<double>(bytes) / 1e6);
  if (is_there) {
    std::printf(", as an earlier call made them\n\n");
  } else {
    std::printf(", made in %.1f s (%.1f s of it to store them)\n\n", build, fill);
  }
  std::printf("%-44s %10s %10s\n", "", "least", "median");
  std::printf("%-44s %8.0f ms %7.0f ms\n", "open", 1e3 * least(opens), 1e3 * median(opens));
  std::printf("re-rank %4zu candidates, 1 thread %11s %8.2f ms %7.2f ms\n", rerank, "",
              1e3 * least(reranks), 1e3 * median(reranks));
  std::printf(
      "search, %s + %zu re-ranked, %d thread%s %*s %8.2f ms %7.2f ms\n", first_stage.c_str(),
      rerank, used, used == 1 ? " " : "s",
      std::max(0, 12 - static_cast<int>(first_stage.size() + std::to_string(rerank).size())), "",
      1e3 * least(searches), 1e3 * median(searches));
  std::printf("%-44s %8.2f ms %7.2f ms\n", "find an added image", 1e3 * least(taken_in),
              1e3 * median(taken_in));
}

}  // namespace

Run define_bench_gallery(CLI::App& command) {
  auto options = std::make_shared<BenchGalleryCommand>();
  command.add_option("--images", options->images, "Size of the gallery");
  command.add_option("--grid", options->grid, "Cells per side")->check(CLI::Range(1, 14));
  command.add_option("--dim", options->dim, "Dimensions of a cell")->check(CLI::PositiveNumber);
  command.add_option("--rerank", options->rerank, "Candidates of each query")
      ->check(CLI::PositiveNumber);
  command.add_option("--type", options->type, "Type of the cells: float16, float32 or int8");
  command.add_option("--at", options->at,
                     "The gallery, made where there is none, and kept: a folder, or "
                     "postgres://USER@HOST:PORT/DATABASE/GALLERY");
  command.add_option(
      "--first-stage", options->first_stage,
      "exact, cuda, or an index that 'diml index cache' made of the gallery of --at: "
      "index, pgvector");
  define_threads(command, options->threads);
  command.add_option("--json", options->json, "The figures for programs; - for standard output");
  command.footer("Example:\n  diml bench gallery --images 100000");
  return [options] { options->run(); };
}

}  // namespace diml::cli
