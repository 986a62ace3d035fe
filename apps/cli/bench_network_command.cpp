// How fast this machine runs a network, and how much of that the whole way from files to grids
// keeps.

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "bench_tools.h"
#include "command.h"
#include "diml/embedding_files.h"
#include "diml/error.h"
#include "diml/open_network.h"
#include "diml/random.h"
#include "diml/temporary_folder.h"
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
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void BenchNetworkCommand::run() {
  if (threads < 0) throw Error("--threads must be 0 (all cores) or more");
  JsonOutput output(json);
  ImageOptions::Images chosen;
  if (!images.images.empty() || !images.dataset.empty()) {
    chosen = images.load();
    constexpr std::size_t kMost = 256;
    for (auto* list : {&chosen.list.labels, &chosen.list.roles}) {
      if (list->size() > kMost) list->resize(kMost);
    }
    if (chosen.list.paths.size() > kMost) chosen.list.paths.resize(kMost);
  }

  const OpenNetworkParams params{
      {precision_from(network.precision), !network.no_projection, threads, {}},
      network.backend,
      network.preprocessing.values};
  OpenedNetwork opened = open_network(network.model, params);
  const std::string backend = opened.network->name();
  const std::size_t size = opened.preprocessing.crop;
  const MapShape shape = opened.network->output_shape(size, size);
  std::vector<float> pixels(network.batch * 3 * size * size);
  Random random(1);
  for (float& pixel : pixels) pixel = static_cast<float>(random.normal());
  std::vector<float> maps(network.batch * shape.count());
  opened.network->forward(pixels, network.batch, size, size, maps);

  // Alternating, so that a noisy neighbour meets both.
  Embedder embedder = network.open(threads);
  const TemporaryFolder scratch;
  std::vector<double> bare;
  std::vector<double> whole;
  const std::size_t passes = std::max<std::size_t>(
      1, (chosen.list.paths.empty() ? 64 : chosen.list.paths.size()) / network.batch);
  for (std::size_t round = 0; round <= rounds; ++round) {
    auto start = Clock::now();
    for (std::size_t pass = 0; pass < passes; ++pass) {
      opened.network->forward(pixels, network.batch, size, size, maps);
    }
    const double of_network = seconds_since(start) / static_cast<double>(passes * network.batch);
    double of_pipeline = 0.0;
    if (!chosen.list.paths.empty()) {
      start = Clock::now();
      EmbeddingFiles files(scratch.path() + "/bench", chosen.list,
                           {.cells_per_grid = embedder.cells_per_grid(), .dim = embedder.dim()});
      embedder.embed_files(chosen.list.paths, chosen.orientation, images.bad(),
                           [&](const EmbeddedBatch& batch) {
                             files.append(batch);
                             return true;
                           });
      files.commit();
      of_pipeline = seconds_since(start) / static_cast<double>(chosen.list.paths.size());
    }
    if (round == 0) continue;  // warming up
    bare.push_back(of_network);
    whole.push_back(of_pipeline);
  }
  const double milliseconds = 1e3 * median(bare);
  Json report = {{"backend", backend},
                 {"precision", network.precision},
                 {"batch", network.batch},
                 {"pixels", size},
                 {"threads", thread_count(threads)},
                 {"network_ms_per_image", milliseconds}};
  if (!chosen.list.paths.empty()) {
    std::vector<double> shares;
    for (std::size_t k = 0; k < bare.size(); ++k) shares.push_back(bare[k] / whole[k]);
    report["pipeline_ms_per_image"] = 1e3 * median(whole);
    report["pipeline_share"] = median(shares);
  }
  output.write(report);
  if (output.takes_standard_output()) return;
  std::printf("%s, %s, batches of %zu, %zu pixels, %d threads\n\n", backend.c_str(),
              network.precision.c_str(), network.batch, size, thread_count(threads));
  std::printf("the network alone      %7.2f ms/image (median of %zu rounds)\n", milliseconds,
              rounds);
  if (report.contains("pipeline_share")) {
    std::printf("from files to files    %7.2f ms/image: %.0f %% of the network's rate\n",
                report["pipeline_ms_per_image"].get<double>(),
                100.0 * report["pipeline_share"].get<double>());
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
