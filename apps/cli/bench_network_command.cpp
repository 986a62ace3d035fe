// How fast this machine runs a network, and how much of that the way from decoded photos, and the
// whole way from files to grids on disk, keep.

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/temporary_folder.h"
#include "bench_photos.h"
#include "bench_tools.h"
#include "command.h"
#include "diml/embedding_files.h"
#include "diml/error.h"
#include "diml/open_network.h"
#include "network_options.h"

namespace diml::cli {
namespace {

using Clock = std::chrono::steady_clock;

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

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Enough that the first and the last batch, with which nothing else is under way, hardly count.
std::size_t BenchNetworkCommand::wanted() const {
  const std::size_t batch = network.batch == 0 ? default_batch(network.device) : network.batch;
  return network.device == "cpu" ? std::max<std::size_t>(64, batch) : 24 * batch;
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
  if (threads < 0) throw Error("--threads must be 0 (all cores) or more");
  JsonOutput output(json);
  const LabelledImages files = chosen();
  const std::vector<Image> photos = decoded(files);
  Embedder embedder = network.open(threads);
  const OpenNetworkParams params{
      {precision_from(network.precision), !network.no_projection, threads, {}, network.device},
      network.backend,
      network.preprocessing.values};
  const OpenedNetwork opened = open_network(network.model, params);
  const std::size_t size = opened.preprocessing.crop;
  std::vector<float> cells(photos.size() * embedder.cells_per_grid() * embedder.dim());
  std::vector<float> globals(photos.size() * embedder.dim());
  const std::size_t passes = std::max<std::size_t>(1, photos.size() / network.batch);
  const auto count = static_cast<double>(photos.size());

  // Alternating, so that a noisy neighbour meets all.
  const TemporaryFolder scratch;
  std::vector<double> bare, alone, from_memory, from_files;
  for (std::size_t round = 0; round <= rounds; ++round) {
    const double of_pass = opened.network->seconds_of_pass(passes, network.batch, size, size);
    auto start = Clock::now();
    embedder.embed(std::span(photos).first(1));
    const double of_one = seconds_since(start);
    start = Clock::now();
    embedder.embed(photos, cells, globals);
    const double of_memory = seconds_since(start) / count;
    double of_files = 0.0;
    if (!files.paths.empty()) {
      start = Clock::now();
      EmbeddingFiles written(scratch.path() + "/bench", files,
                             {.cells_per_grid = embedder.cells_per_grid(), .dim = embedder.dim()});
      embedder.embed_files(files.paths, files.orientation, images.bad(),
                           [&](const EmbeddedBatch& batch) {
                             written.append(batch);
                             return true;
                           });
      written.commit();
      of_files = seconds_since(start) / count;
    }
    if (round == 0) continue;  // warming up
    bare.push_back(of_pass / static_cast<double>(network.batch));
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
                 {"device", network.device},
                 {"precision", network.precision},
                 {"batch", network.batch},
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
              opened.network->name(), network.device.c_str(), network.precision.c_str(),
              network.batch, size, thread_count(threads), rounds);
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
  command.add_option("--rounds", options->rounds, "How often; medians are printed")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--threads", options->threads, "Threads; 0 for all cores")
      ->capture_default_str();
  command.add_option("--json", options->json, "For programs; - for standard output");
  command.footer("Example:\n  diml bench network --model resnet50 --images photos/");
  return [options] { options->run(); };
}

}  // namespace diml::cli
