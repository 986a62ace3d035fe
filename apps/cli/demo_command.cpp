#include <algorithm>
#include <cstdio>
#include <numeric>

#include "command.h"
#include "diml/error.h"
#include "diml/evaluate.h"
#include "diml/generated.h"
#include "diml/match.h"
#include "diml/retriever.h"
#include "progress_bar.h"
#include "results.h"
#if DIML_HAS_TRAINING && DIML_HAS_DRAWING
#include <filesystem>

#include "critters/critters.h"
#include "diml/dataset.h"
#include "engine/embed_together.h"
#include "engine/open_network.h"
#include "engine/torch_plugin.h"
#include "interrupt.h"
#include "train_reporter.h"
#if DIML_HAS_GALLERY
#include "demo_gallery.h"
#endif
#endif

namespace diml::cli {
namespace {

constexpr std::size_t kSide = 4;
constexpr std::size_t kHead = 100;

// A query with a wrong nearest image by the cosine of globals and a right one after structural
// re-ranking, and that image.
struct Rescue {
  std::size_t query = 0;
  std::size_t wrong = 0;
  std::size_t right = 0;
  bool found = false;
};

// The data of the tour: grids with labels, and names of the images where they have any.
struct Exhibit {
  GridSet grids;
  std::vector<std::int64_t> labels;
  std::vector<std::string> names{};

  std::string name(std::size_t image) const {
    return names.empty() ? "image " + std::to_string(image) : names[image];
  }
};

Rescue find_rescue(const Exhibit& exhibit) {
  const GridSetView grids = exhibit.grids.view();
  std::vector<std::int64_t> themselves(grids.size);
  std::iota(themselves.begin(), themselves.end(), std::int64_t{0});
  const Retriever retriever(grids);
  const ScoredRanking scored =
      retriever.match_head(grids, retriever.candidates(grids, kHead, themselves), kHead);
  for (std::size_t q = 0; q < grids.size; ++q) {
    const std::size_t before = static_cast<std::size_t>(scored.ranking.ids_of(q)[0]);
    const std::size_t after = static_cast<std::size_t>(reranked(scored, q, scored.head)[0]);
    const std::int64_t label = exhibit.labels[q];
    if (exhibit.labels[before] != label && exhibit.labels[after] == label) {
      return {q, before, after, true};
    }
  }
  return {};
}

void print_weights(const char* title, const std::vector<double>& weights) {
  std::printf("  %s\n", title);
  for (std::size_t row = 0; row < kSide; ++row) {
    std::printf("   ");
    for (std::size_t column = 0; column < kSide; ++column) {
      std::printf(" %5.1f%%", 100.0 * weights[row * kSide + column]);
    }
    std::printf("\n");
  }
}

void explain(const Exhibit& exhibit, std::size_t source, std::size_t target) {
  MatchParams params;
  params.certificate = Certificate::duality_gap;
  const StructuralMatch result = match(exhibit.grids[source], exhibit.grids[target], params);
  const std::size_t cells = result.plan.cols;
  print_weights("weights of the query's cells", result.marginals.source);
  print_weights("weights of the found image's cells", result.marginals.target);

  std::vector<std::size_t> order(result.similarity.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    return result.contribution(x / cells, x % cells) > result.contribution(y / cells, y % cells);
  });
  std::printf("  strongest pairs of cells (row,column):\n");
  double shown = 0.0;
  constexpr std::size_t kShown = 5;
  const double scale = static_cast<double>(cells * cells);
  for (std::size_t k = 0; k < kShown; ++k) {
    const std::size_t i = order[k] / cells;
    const std::size_t j = order[k] % cells;
    const double contribution = result.contribution(i, j);
    shown += contribution;
    std::printf(
        "    (%zu,%zu) -> (%zu,%zu)   [%5.2f] x [%4.2f] / %zu = %.4f   %4.1f %% of the score\n",
        i / kSide, i % kSide, j / kSide, j % kSide, scale * result.plan(i, j),
        result.similarity[order[k]], cells * cells, contribution,
        100.0 * contribution / result.score);
  }
  std::printf("    the other %zu pairs %30s %.4f\n", cells * cells - kShown, "",
              result.score - shown);
  std::printf("  structural similarity %43.4f   (%d iterations, marginal error %.1e)\n",
              result.score, result.plan.iterations, result.plan.marginal_error);
  std::printf("  no plan between these weights scores above %.4f (duality)\n",
              1.0 - result.bracket->lower);
}

// Returns what it explained.
Rescue show(const Exhibit& exhibit) {
  print_table(evaluate(exhibit.grids.view(), exhibit.labels, {}, progress_bar("evaluate")));
  const Rescue rescue = find_rescue(exhibit);
  if (!rescue.found) return rescue;
  std::printf(
      "\n%s: the nearest by cosine is %s, of another class; re-ranked, it is %s, of its own. "
      "Why?\n\n",
      exhibit.name(rescue.query).c_str(), exhibit.name(rescue.wrong).c_str(),
      exhibit.name(rescue.right).c_str());
  explain(exhibit, rescue.query, rescue.right);
  return rescue;
}

// Without pictures and networks: generated grids.
void tour_of_grids() {
  GeneratedGrids generated = generate_grids({.size = 3000, .classes = 150, .grid = kSide});
  std::printf("3000 generated grids of 150 classes, each a query against all the others\n\n");
  show({std::move(generated.grids), std::move(generated.labels)});
}

#if DIML_HAS_TRAINING && DIML_HAS_DRAWING

struct PhotoTour {
  std::string out = "diml-demo";
  std::size_t classes = 60;
  std::size_t images_per_class = 20;
  std::size_t epochs = 40;

  void run() const;
  std::string free_run_folder() const;
};

std::string PhotoTour::free_run_folder() const {
  for (std::size_t number = 1;; ++number) {
    std::string folder = out + "/run" + std::to_string(number);
    if (!std::filesystem::exists(folder)) return folder;
  }
}

// The test split through a trained network.
Exhibit embedded(const std::string& model, const std::string& root) {
  Embedder embedder = open_embedder({.model = model, .grid = kSide});
  const Dataset data = load_dataset("critters", root, Split::test);
  Exhibit exhibit;
  exhibit.grids = GridSet(data.samples.size(), embedder.cells_per_grid(), embedder.dim());
  std::vector<std::string> paths;
  for (const Sample& sample : data.samples) {
    paths.push_back(sample.path);
    exhibit.labels.push_back(sample.label);
    exhibit.names.push_back(std::filesystem::path(sample.path).filename().string());
  }
  embedder.embed_files(
      paths, {}, [&](const EmbeddedBatch& batch) { put_grids(batch, exhibit.grids, batch.first); });
  return exhibit;
}

void PhotoTour::run() const {
  const std::string pictures = out + "/critters";
  if (!std::filesystem::exists(pictures)) {
    CrittersParams params;
    params.classes = classes;
    params.images_per_class = images_per_class;
    params.size = 128;
    write_critters(pictures, params, progress_bar("draw"));
  }
  std::printf(
      "%s: pictures of creatures in the layout of CUB200-2011; half of the classes are for "
      "training\n",
      pictures.c_str());
  const std::string folder = free_run_folder();
  std::printf("%s: a small network is trained on them, about a minute on two cores\n\n",
              folder.c_str());
  TrainParams training;
  training.out = folder;
  training.settings = {{"dataset.name", "critters"},     {"dataset.root", pictures},
                       {"loss.name", "contrastive"},     {"optimiser.learning_rate", "0.001"},
                       {"schedule.name", "cosine"},      {"epochs", std::to_string(epochs)},
                       {"sampler.batch", "56"},          {"sampler.per_class", "4"},
                       {"augment.smallest_area", "0.5"}, {"evaluate.every", "10"}};
  const Interrupt interrupt;
  TrainHooks hooks;
  TrainReporter reporter;
  reporter.connect(hooks);
  const TrainSummary summary = train(training, hooks);
  if (summary.cancelled) throw Error("stopped; the run is in " + folder);
  std::printf(
      "\nclasses that were not in the training, by cosine of global vectors (0) and re-ranked "
      "structurally "
      "(100):\n");
  const Rescue rescue = show(embedded(folder + "/best.safetensors", pictures));
  std::printf("\nthe run: %s (config.yaml, metrics.jsonl, best.safetensors, TensorBoard events)\n",
              folder.c_str());
#if DIML_HAS_GALLERY
  // Where re-ranking corrected no query, use the first two images of a class.
  leave_gallery(folder, folder + "/best.safetensors", pictures, rescue.query,
                rescue.found ? rescue.right : 1);
#else
  (void)rescue;
#endif
}

#endif

}  // namespace

Run define_demo(CLI::App& command) {
  auto grids = std::make_shared<bool>(false);
  command.add_flag("--grids", *grids, "The short tour, on generated grids, without pictures");
#if DIML_HAS_TRAINING && DIML_HAS_DRAWING
  auto tour = std::make_shared<PhotoTour>();
  command.add_option("--out", tour->out, "Folder for the pictures and the run");
  command.add_option("--classes", tour->classes, "Of creatures");
  command.add_option("--images-per-class", tour->images_per_class, "Pictures of each class");
  command.add_option("--epochs", tour->epochs, "Of training");
  return [tour, grids] { *grids ? tour_of_grids() : tour->run(); };
#else
  return [grids] { tour_of_grids(); };  // the only one that this build supports
#endif
}

}  // namespace diml::cli
