#include <chrono>
#include <cstdio>
#include <fstream>
#include <optional>

#include "command.h"
#include "diml/embed_together.h"
#include "diml/embedding_files.h"
#include "diml/error.h"
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
  void write(ProcessGroup& processes, Embedder& embedder, const LabelledImages& chosen,
             const std::string& fingerprint) const;
  void help_to_write(ProcessGroup& processes, Embedder& embedder,
                     const LabelledImages& chosen) const;
};

const char* const kResume = "the same call with --resume goes on";

ArrayType array_type_from(const std::string& name) {
  if (name == "float32") return ArrayType::float32;
  if (name == "float16") return ArrayType::float16;
  throw Error("unknown type '" + name + "': float32 or float16");
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
  array_type_from(type);
  // First: one that ends before the others have met it lets them wait.
  const std::unique_ptr<ProcessGroup> processes = join_processes();
  const LabelledImages chosen = images.load();
  Embedder embedder = network.open(threads);
  const std::string fingerprint = fingerprint_of(chosen, network.description() + " " + type);
  processes->expect_same(fingerprint, "images, another model or other options");
  if (processes->writes()) {
    write(*processes, embedder, chosen, fingerprint);
  } else {
    help_to_write(*processes, embedder, chosen);
  }
}

void EmbedCommand::help_to_write(ProcessGroup& processes, Embedder& embedder,
                                 const LabelledImages& chosen) const {
  const std::size_t before = std::stoull(processes.exchanged("").front());
  const Interrupt interrupt;
  const bool finished = embed_together(processes, embedder, std::span(chosen.paths).subspan(before),
                                       chosen.orientation, images.bad(), {}, Interrupt::asked);
  if (!finished) throw Error(std::string("stopped: ") + kResume);
  processes.wait_for_writer();
}

void EmbedCommand::write(ProcessGroup& processes, Embedder& embedder, const LabelledImages& chosen,
                         const std::string& fingerprint) const {
  JsonOutput output(json);
  EmbeddingFiles files(out, chosen,
                       {.type = array_type_from(type),
                        .cells_per_grid = embedder.cells_per_grid(),
                        .dim = embedder.dim(),
                        .fingerprint = fingerprint,
                        .resume = resume});
  const std::size_t total = chosen.paths.size();
  const std::size_t before = files.done();
  processes.exchanged(std::to_string(before));
  const Progress progress = progress_bar("embed");
  const auto start = std::chrono::steady_clock::now();
  {
    const Interrupt interrupt;
    const auto append = [&](EmbeddedBatch batch) {
      batch.first += before;
      for (std::size_t& index : batch.indices) index += before;
      files.append(batch);
      if (progress) progress(files.done(), total);
    };
    bool finished = false;
    try {
      finished = embed_together(processes, embedder, std::span(chosen.paths).subspan(before),
                                chosen.orientation, images.bad(), append, Interrupt::asked);
    } catch (...) {
      files.sync();  // so that --resume does not repeat it
      throw;
    }
    if (!finished) {
      files.sync();
      throw Error("stopped after " + std::to_string(files.done()) + " of " + std::to_string(total) +
                  " images: " + kResume);
    }
    if (files.kept() == 0) {
      report_bad(lines_of(out + ".partial/bad.txt"), total, "");
      throw Error("none of the images could be read: nothing was written");
    }
    files.commit();
  }
  processes.wait_for_writer();
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
