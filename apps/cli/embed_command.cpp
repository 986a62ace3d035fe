#include <cstdio>
#include <optional>

#include "base/input_file.h"
#include "base/shown_text.h"
#include "base/stopwatch.h"
#include "command.h"
#include "diml/error.h"
#include "engine/embed_together.h"
#include "engine/embedding_files.h"
#include "engine/process_group.h"
#include "failure.h"
#include "interrupt.h"
#include "network_options.h"
#include "options.h"
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

const char* const kResume = "the same command with --resume continues";

ArrayType array_type_from(const std::string& name) {
  if (name == "float32") return ArrayType::float32;
  if (name == "float16") return ArrayType::float16;
  if (name == "int8") return ArrayType::int8;
  throw Error("unknown type '" + name + "': float32, float16 or int8");
}

void EmbedCommand::run() {
  if (images.images.empty() && images.dataset.empty()) {
    throw Error("name the images: --dataset NAME --root DIR, or --images DIR");
  }
  array_type_from(type);
  // First: if a process ended before it connects, the others would wait for it.
  const std::unique_ptr<ProcessGroup> processes = join_processes();
  const LabelledImages chosen = images.load();
  Embedder embedder = open_embedder(network.with_threads(threads));
  const std::string fingerprint = fingerprint_of(chosen, description_of(embedder) + " " + type);
  processes->expect_same(fingerprint, "images, another model or other options");
  if (processes->is_root()) {
    write(*processes, embedder, chosen, fingerprint);
  } else {
    help_to_write(*processes, embedder, chosen);
  }
}

void EmbedCommand::help_to_write(ProcessGroup& processes, Embedder& embedder,
                                 const LabelledImages& chosen) const {
  const std::size_t before = std::stoull(processes.all_gather("").front());
  const Interrupt interrupt;
  or_stopped(
      [&] {
        embed_together(processes, embedder, std::span(chosen.paths).subspan(before),
                       {chosen.orientation, images.bad()}, {}, Progress().with(Interrupt::asked));
      },
      [] { return std::string("stopped: ") + kResume; });
  processes.barrier();
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
  const std::size_t kept_before = files.kept();
  processes.all_gather(std::to_string(before));
  const Progress bar = progress_bar("embed");
  const Progress progress([&](std::size_t done, std::size_t) { bar(before + done, total); },
                          Interrupt::asked);
  const Stopwatch watch;
  {
    const Interrupt interrupt;
    const auto append = [&](EmbeddedBatch batch) {
      batch.first += before;
      for (std::size_t& index : batch.indices) index += before;
      files.append(batch);
    };
    try {
      embed_together(processes, embedder, std::span(chosen.paths).subspan(before),
                     {chosen.orientation, images.bad()}, append, progress);
    } catch (const Error& error) {
      files.sync();  // so that --resume does not repeat it
      if (error.kind() == ErrorKind::cancelled) {
        throw Error(ErrorKind::cancelled, "stopped after " + std::to_string(files.done()) + " of " +
                                              std::to_string(total) + " images: " + kResume);
      }
      if (files.kept() == 0) throw;
      throw with_work_kept(error, std::to_string(files.done()) + " of " + std::to_string(total) +
                                      " images are kept in " + out + ".partial");
    } catch (...) {
      files.sync();
      throw;
    }
    if (files.kept() == 0) {
      report_bad(read_names(out + ".partial/bad.txt"), total, "");
      throw Error("none of the images could be read: nothing was written");
    }
    files.commit();
  }
  processes.barrier();
  const double seconds = watch.seconds();
  if (files.bad() > 0) report_bad(read_names(out + ".bad.txt"), total, out + ".bad.txt");
  const double rate = static_cast<double>(total - before) / seconds;
  output.write({{"images", files.kept()},
                {"embedded", files.kept() - kept_before},
                {"bad", files.bad()},
                {"cells", embedder.cells_per_grid()},
                {"dim", embedder.dim()},
                {"seconds", seconds},
                {"images_per_second", rate}});
  if (!output.takes_standard_output()) {
    std::printf("%zu images, %zu cells of %zu dimensions each, in %s.*: %.1f s, %.1f images/s\n",
                files.kept(), embedder.cells_per_grid(), embedder.dim(), shown(out).c_str(),
                seconds, rate);
  }
}

}  // namespace

Run define_embed(CLI::App& command) {
  auto options = std::make_shared<EmbedCommand>();
  options->network.define(command);
  command.get_option("--model")->required();
  command.add_option("--grid", options->network.params.grid, "Cells per side")
      ->check(CLI::Range(1, 14));
  options->images.define_dataset(command);
  options->images.define_images(command);
  command.add_option("--out", options->out, "PREFIX of the files: PREFIX.cells.npy and so on")
      ->required();
  command.add_option(
      "--type", options->type,
      "Type of cells and globals: float32, float16 for half the size, or int8 for a quarter");
  command.add_flag("--resume", options->resume, "Continue an interrupted call");
  define_threads(command, options->threads);
  command.add_option("--json", options->json, "What was done, for programs; - for standard output");
  return [options] { options->run(); };
}

}  // namespace diml::cli
