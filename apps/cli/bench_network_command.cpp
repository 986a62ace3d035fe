// How fast this machine runs a network, and which share of that speed remains from decoded photos
// and from files to grids on disk.

#include <algorithm>
#include <cstdio>

#include "base/stopwatch.h"
#include "base/temporary_folder.h"
#include "base/threads.h"
#include "bench_photos.h"
#include "bench_tools.h"
#include "command.h"
#include "diml/error.h"
#include "engine/embedding_files.h"
#include "engine/open_network.h"
#include "network_options.h"
#include "options.h"
#include "progress_bar.h"

namespace diml::cli {
namespace {

struct BenchNetworkCommand {
  NetworkOptions network;
  ImageOptions images;
  std::size_t rounds = 5;
  int threads = 0;
  std::string json;

  void run();
  LabelledImages chosen() const;
  std::vector<Image> decoded(const LabelledImages& files) const;
  std::size_t wanted() const;
};

// Enough that the first and the last batch, which overlap with no other, hardly count.
std::size_t BenchNetworkCommand::wanted() const {
  const std::size_t batch =
      network.params.batch == 0 ? default_batch(network.params.device) : network.params.batch;
  return network.params.device == "cpu" ? std::max<std::size_t>(64, batch) : 24 * batch;
}

LabelledImages BenchNetworkCommand::chosen() const {
  LabelledImages files;
  if (images.images.empty() && images.dataset.empty()) return files;
  files = images.load();
  const std::size_t most = std::max<std::size_t>(256, wanted());
  files.cut_to(most);
  return files;
}

std::vector<Image> BenchNetworkCommand::decoded(const LabelledImages& files) const {
  constexpr std::size_t kSide = 256;
  constexpr std::size_t kKinds = 32;
  const std::vector<std::string>& paths = files.paths;
  std::vector<Image> photos(paths.empty() ? wanted() : paths.size());
  parallel_for(photos.size(), 1, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      photos[k] = paths.empty() ? bench_photo(kSide * 4 / 3, kSide, k % kKinds)
                                : read_image(paths[k], {.orientation = files.orientation});
    }
  });
  return photos;
}

void BenchNetworkCommand::run() {
  JsonOutput output(json);
  const LabelledImages files = chosen();
  const std::vector<Image> photos = decoded(files);
  const EmbeddingParams params = network.with_threads(threads);
  Embedder embedder = open_embedder(params);
  const OpenedNetwork opened = open_network(params);
  const std::size_t batch = embedder.params().batch;
  const std::size_t size = opened.preprocessing.crop;
  std::vector<float> cells(photos.size() * embedder.cells_per_grid() * embedder.dim());
  std::vector<float> globals(photos.size() * embedder.dim());
  const std::size_t passes = std::max<std::size_t>(1, photos.size() / batch);
  const auto count = static_cast<double>(photos.size());

  // Alternating, so that other load on the machine affects all of them.
  const TemporaryFolder scratch;
  std::vector<double> bare, alone, from_memory, from_files;
  const Progress bar = progress_bar("measure");
  constexpr std::size_t kStages = 3;
  const std::size_t stages = kStages * (rounds + 1);
  for (std::size_t round = 0; round <= rounds; ++round) {
    bar(kStages * round, stages);
    const double of_pass = opened.network->seconds_of_pass(passes, batch, size, size);
    bar(kStages * round + 1, stages);
    Stopwatch watch;
    embedder.embed(std::span(photos).first(1));
    const double of_one = watch.restart();
    embedder.embed(photos, cells, globals);
    const double of_memory = watch.seconds() / count;
    double of_files = 0.0;
    bar(kStages * round + 2, stages);
    if (!files.paths.empty()) {
      watch.restart();
      EmbeddingFiles written(scratch.path() + "/bench", files,
                             {.cells_per_grid = embedder.cells_per_grid(), .dim = embedder.dim()});
      embedder.embed_files(files.paths, {files.orientation, images.bad()},
                           [&](const EmbeddedBatch& some) { written.append(some); });
      written.commit();
      of_files = watch.seconds() / count;
    }
    bar(kStages * (round + 1), stages);
    if (round == 0) continue;  // warm-up
    bare.push_back(of_pass / static_cast<double>(batch));
    alone.push_back(of_one);
    from_memory.push_back(of_memory);
    from_files.push_back(of_files);
  }
  const auto share_of = [&](const std::vector<double>& whole) {
    std::vector<double> shares;
    for (std::size_t k = 0; k < bare.size(); ++k) shares.push_back(bare[k] / whole[k]);
    return median(shares);
  };
  Json report = {{"backend", opened.network->name()},
                 {"device", network.params.device},
                 {"precision", name_of(params.precision)},
                 {"batch", batch},
                 {"pixels", size},
                 {"threads", thread_count(threads)},
                 {"network_ms_per_image", 1e3 * median(bare)},
                 {"network_images_per_second", 1.0 / median(bare)},
                 {"one_photo_ms", 1e3 * median(alone)},
                 {"decoded_images_per_second", 1.0 / median(from_memory)},
                 {"decoded_share", share_of(from_memory)}};
  if (!files.paths.empty()) {
    report["pipeline_ms_per_image"] = 1e3 * median(from_files);
    report["pipeline_images_per_second"] = 1.0 / median(from_files);
    report["pipeline_share"] = share_of(from_files);
  }
  output.write(report);
  if (output.takes_standard_output()) return;
  std::printf("%s on %s, %s, batches of %zu, %zu pixels, %d threads (medians of %zu rounds)\n\n",
              opened.network->name(), network.params.device.c_str(), name_of(params.precision),
              batch, size, thread_count(threads), rounds);
  const auto line = [](const char* what, double milliseconds, double share) {
    std::printf("%-22s %8.3f ms/image %9.1f images/s: %3.0f %% of the network's rate\n", what,
                milliseconds, 1e3 / milliseconds, 100.0 * share);
  };
  line("the network alone", 1e3 * median(bare), 1.0);
  line("from decoded photos", 1e3 * median(from_memory), share_of(from_memory));
  line("one photo alone", 1e3 * median(alone), share_of(alone));
  if (!files.paths.empty()) {
    line("from files to files", 1e3 * median(from_files), share_of(from_files));
  }
}

}  // namespace

Run define_bench_network(CLI::App& command) {
  auto options = std::make_shared<BenchNetworkCommand>();
  options->network.define(command);
  command.get_option("--model")->required();
  options->images.define_dataset(command);
  options->images.define_images(command);
  command.add_option("--rounds", options->rounds, "Repetitions; the medians are printed")
      ->check(CLI::PositiveNumber);
  define_threads(command, options->threads);
  command.add_option("--json", options->json, "For programs; - for standard output");
  command.footer("Example:\n  diml bench network --model resnet50 --images photos/");
  return [options] { options->run(); };
}

}  // namespace diml::cli
