#include <chrono>
#include <cstdio>
#include <fstream>

#include "command.h"
#include "diml/embedding_files.h"
#include "diml/error.h"
#include "diml/sha256.h"
#include "interrupt.h"
#include "network_options.h"
#include "progress_bar.h"

namespace diml::cli {
namespace {

struct EmbedCommand {
  NetworkOptions network;
  ImageOptions images;
  std::string out;
  std::string type = "float32";
  bool resume = false;
  int threads = 0;
  std::string json;

  void run();
};

ArrayType array_type_from(const std::string& name) {
  if (name == "float32") return ArrayType::float32;
  if (name == "float16") return ArrayType::float16;
  throw Error("unknown type '" + name + "': float32 or float16");
}

// Of everything that the files depend on: work that was interrupted goes on only where it is equal.
std::string fingerprint_of(const EmbeddingList& list, const std::string& description,
                           const std::string& type) {
  Sha256 sha;
  const auto add = [&](const std::string& text) {
    sha.update({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  add(description + " " + type + "\n");
  for (std::size_t i = 0; i < list.paths.size(); ++i) {
    const std::int64_t role = list.roles.empty() ? 0 : list.roles[i];
    add(list.paths[i] + " " + std::to_string(list.labels[i]) + " " + std::to_string(role) + "\n");
  }
  return sha.hex();
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  std::string line;
  while (std::getline(file, line)) lines.push_back(line);
  return lines;
}

void EmbedCommand::run() {
  if (threads < 0) throw Error("--threads must be 0 (all cores) or more");
  if (images.images.empty() && images.dataset.empty()) {
    throw Error("name the images: --dataset NAME --root DIR, or --images DIR");
  }
  const ArrayType array_type = array_type_from(type);
  JsonOutput output(json);
  const ImageOptions::Images chosen = images.load();
  Embedder embedder = network.open(threads);
  EmbeddingFiles files(out, chosen.list,
                       {.type = array_type,
                        .cells_per_grid = embedder.cells_per_grid(),
                        .dim = embedder.dim(),
                        .fingerprint = fingerprint_of(chosen.list, network.description(), type),
                        .resume = resume});
  const std::size_t total = chosen.list.paths.size();
  const std::size_t before = files.done();
  const Progress progress = progress_bar("embed");
  const auto start = std::chrono::steady_clock::now();
  {
    const Interrupt interrupt;
    try {
      embedder.embed_files(std::span(chosen.list.paths).subspan(before), chosen.orientation,
                           images.bad(), [&](EmbeddedBatch batch) {
                             batch.first += before;
                             for (std::size_t& index : batch.indices) index += before;
                             files.append(batch);
                             if (progress) progress(files.done(), total);
                             return !Interrupt::asked();
                           });
    } catch (...) {
      files.sync();  // so that --resume does not repeat it
      throw;
    }
    if (files.done() < total) {
      files.sync();
      throw Error("stopped after " + std::to_string(files.done()) + " of " + std::to_string(total) +
                  " images: the same call with --resume goes on");
    }
    if (files.kept() == 0) {
      report_bad(lines_of(out + ".partial/bad.txt"), total, "");
      throw Error("none of the images could be read: nothing was written");
    }
    files.commit();
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (files.bad() > 0) report_bad(lines_of(out + ".bad.txt"), total, out + ".bad.txt");
  const double rate = static_cast<double>(total - before) / seconds;
  output.write({{"images", files.kept()},
                {"bad", files.bad()},
                {"cells", embedder.cells_per_grid()},
                {"dim", embedder.dim()},
                {"seconds", seconds},
                {"images_per_second", rate}});
  if (!output.takes_standard_output()) {
    std::printf("%zu images, %zu cells of %zu dimensions each, in %s.*: %.1f s, %.1f images/s\n",
                files.kept(), embedder.cells_per_grid(), embedder.dim(), out.c_str(), seconds,
                rate);
  }
}

}  // namespace

Run define_embed(CLI::App& command) {
  auto options = std::make_shared<EmbedCommand>();
  options->network.define(command);
  command.get_option("--model")->required();
  command.add_option("--grid", options->network.grid, "Cells per side")
      ->check(CLI::Range(1, 14))
      ->capture_default_str();
  options->images.define_dataset(command);
  options->images.define_images(command);
  command.add_option("--out", options->out, "PREFIX of the files: PREFIX.cells.npy and so on")
      ->required();
  command
      .add_option("--type", options->type,
                  "Of cells and globals: float32, or float16 for half the size")
      ->capture_default_str();
  command.add_flag("--resume", options->resume, "Go on where an interrupted call stopped");
  command.add_option("--threads", options->threads, "Threads; 0 for all cores")
      ->capture_default_str();
  command.add_option("--json", options->json, "What was done, for programs; - for standard output");
  return [options] { options->run(); };
}

}  // namespace diml::cli
