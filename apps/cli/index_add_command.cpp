#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "diml/error.h"
#include "diml/gallery_files.h"
#include "gallery_command.h"
#include "interrupt.h"
#include "progress_bar.h"
#if DIML_HAS_NETWORKS
#include "gallery_model.h"
#endif

namespace diml::cli {
namespace {

struct AddCommand {
  std::string gallery;
  std::string embeddings;
  std::string metadata;
  std::string type = "float16";
  bool fresh = false;  // `build`
  bool replace = false;
  int threads = 0;
  std::string json;
#if DIML_HAS_NETWORKS
  NetworkOptions network;
  ImageOptions images;
#endif

  void define(CLI::App& command);
  void run();

 private:
  KnownPaths known() const { return replace ? KnownPaths::replace : KnownPaths::skip; }
  void expect_sources() const;
  MetadataByPath loaded_metadata() const {
    return metadata.empty() ? MetadataByPath() : load_metadata(metadata);
  }
  CellType cell_type() const;
  std::shared_ptr<GridStore> opened(const GridFormat& format);
  void leave_no_empty_gallery() const;
  AddReport run_embeddings(const GoOn& go_on);
  AddReport run_images(const GoOn& go_on);

  bool created_ = false;
};

void AddCommand::define(CLI::App& command) {
  command.add_option("gallery", gallery, "The gallery's folder")->required();
  command.add_option("--embeddings", embeddings,
                     "PREFIX of grids on disk, as 'diml embed' writes them");
#if DIML_HAS_NETWORKS
  if (fresh) {
    network.define(command);
    command.add_option("--grid", network.grid, "Cells per side")
        ->check(CLI::Range(1, 14))
        ->capture_default_str();
  } else {
    define_running(command, network);
  }
  images.define_dataset(command);
  images.define_images(command);
#endif
  command.add_option("--metadata", metadata,
                     "A line an image: {\"path\": \"a.jpg\", \"metadata\": {...}}");
  if (fresh) {
    command.add_option("--type", type, "Of the cells: float16 or float32")->capture_default_str();
  } else {
    command.add_flag("--replace", replace, "Embed again what is there already");
  }
  command.add_option("--threads", threads, "Threads; 0 for all cores")->capture_default_str();
  command.add_option("--json", json, "What was done, for programs; - for standard output");
}

void AddCommand::expect_sources() const {
  if (threads < 0) throw Error("--threads must be 0 (all cores) or more");
#if DIML_HAS_NETWORKS
  const bool has_images = !images.images.empty() || !images.dataset.empty();
  if (has_images == !embeddings.empty()) {
    throw Error(
        "name what goes in, in one way: --images DIR, --dataset NAME --root DIR, or --embeddings "
        "PREFIX");
  }
  if (fresh && has_images && network.model.empty()) {
    throw Error("images need --model: a .safetensors file, or 'resnet50' after 'diml weights get'");
  }
#else
  if (embeddings.empty()) {
    throw Error("name what goes in: --embeddings PREFIX (this build does not embed photos)");
  }
#endif
}

CellType AddCommand::cell_type() const {
  const CellType wanted = cell_type_from(type);
  if (wanted == CellType::bfloat16) throw Error("a gallery keeps float16 or float32 cells");
  return wanted;
}

std::shared_ptr<GridStore> AddCommand::opened(const GridFormat& format) {
  if (!fresh) return open_gallery(gallery, StoreAccess::write);
  GridFormat wanted = format;
  wanted.type = cell_type();
  try {
    const std::shared_ptr<GridStore> made = create_gallery(gallery, wanted);
    created_ = true;
    return made;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::conflict) throw;
    throw with_context(error, "", " ('diml index add' goes on with one)");
  }
}

// Of a build that came to nothing: the next one may have its name.
void AddCommand::leave_no_empty_gallery() const {
  namespace fs = std::filesystem;
  try {
    if (open_gallery(gallery)->snapshot()->size() > 0) return;
  } catch (const Error&) {
    return;  // what cannot be read is not thrown away either
  }
  std::error_code ignored;
  for (const char* name : {"data.mdb", "lock.mdb"}) fs::remove(fs::path(gallery) / name, ignored);
  fs::remove(gallery, ignored);
}

AddReport AddCommand::run_embeddings(const GoOn& go_on) {
  const EmbeddingSource source(embeddings);
  const MetadataByPath texts = loaded_metadata();
  GridFormat format;
  format.cells_per_grid = source.cells_per_grid();
  format.dim = source.dim();
#if DIML_HAS_NETWORKS
  // Who names the model says that the files were made by it.
  if (fresh && !network.model.empty()) {
    GridFormat claimed = open_embedder(settings_of(network, threads)).format;
    if (claimed.cells_per_grid != format.cells_per_grid || claimed.dim != format.dim) {
      throw Error(embeddings + ": holds grids of " + shape_text(format) + ", the model gives " +
                  shape_text(claimed) + ": name the model and the --grid that made them");
    }
    format = std::move(claimed);
  } else if (!fresh) {
    const std::shared_ptr<GridStore> there = open_gallery(gallery, StoreAccess::write);
    if (!there->format().embedding.empty() && network.model.empty()) {
      throw Error(gallery + ": its images were embedded by " + there->format().model +
                  ": add --model to say that " + embeddings + " was too");
    }
    if (!network.model.empty()) (void)open_embedder_of(*there, settings_of(network, threads));
  }
#endif
  const std::shared_ptr<GridStore> target = opened(format);
  return add_embeddings(*target, source, texts, known(), go_on);
}

#if DIML_HAS_NETWORKS
AddReport AddCommand::run_images(const GoOn& go_on) {
  namespace fs = std::filesystem;
  const LabelledImages chosen = images.load();
  const MetadataByPath texts = loaded_metadata();
  std::vector<ImageToAdd> to_add;
  for (std::size_t i = 0; i < chosen.paths.size(); ++i) {
    // A data set says which of its images are there to be found.
    if (!chosen.roles.empty() && chosen.roles[i] == Role::query) continue;
    // The gallery is opened from other folders too.
    const std::string place = fs::absolute(chosen.paths[i]).lexically_normal().string();
    auto found = texts.find(chosen.paths[i]);
    if (found == texts.end()) found = texts.find(place);
    to_add.push_back({chosen.paths[i],
                      {place, chosen.labels[i], found == texts.end() ? "" : found->second, {}}});
  }
  if (fresh) (void)cell_type();  // before the model is read
  const auto add = [&](GridStore& target, Embedder& embedder) {
    return add_images(target, embedder, to_add, {chosen.orientation, images.bad(), known()}, go_on);
  };
  if (fresh) {
    OpenedEmbedder embedder = open_embedder(settings_of(network, threads));
    return add(*opened(embedder.format), embedder.embedder);
  }
  const std::shared_ptr<GridStore> there = opened({});
  OpenedEmbedder embedder = open_embedder_of(*there, settings_of(network, threads));
  return add(*there, embedder.embedder);
}
#endif

void AddCommand::run() {
  expect_sources();
  JsonOutput output(json);
  const Progress progress = progress_bar("index");
  const auto start = std::chrono::steady_clock::now();
  std::size_t done = 0;
  std::size_t total = 0;
  const GoOn go_on = [&](std::size_t so_far, std::size_t all) {
    done = so_far;
    total = all;
    if (progress) progress(so_far, all);
    return !Interrupt::asked();
  };
  AddReport report;
  try {
    const Interrupt interrupt;
#if DIML_HAS_NETWORKS
    report = embeddings.empty() ? run_images(go_on) : run_embeddings(go_on);
#else
    report = run_embeddings(go_on);
#endif
  } catch (...) {
    if (created_) leave_no_empty_gallery();
    throw;
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
#if DIML_HAS_NETWORKS
  report_bad(report.bad, report.added + report.bad.size(), "");
#endif
  if (report.stopped) {
    throw Error("stopped after " + std::to_string(done) + " of " + std::to_string(total) +
                " images, which are kept: 'diml index add' with the same images goes on");
  }
  const std::size_t items = open_gallery(gallery)->snapshot()->size();
  output.write({{"items", items},
                {"added", report.added},
                {"replaced", report.replaced},
                {"known", report.known},
                {"bad", report.bad.size()},
                {"seconds", seconds}});
  if (output.takes_standard_output()) return;
  std::printf("%zu images added", report.added);
  if (report.replaced > 0) std::printf(", %zu of them in the place of others", report.replaced);
  if (report.known > 0) std::printf(", %zu were there already", report.known);
  std::printf("; %zu in %s: %.1f s\n", items, gallery.c_str(), seconds);
}

void define_one(CLI::App& command, Run& chosen, bool fresh, const char* example) {
  auto options = std::make_shared<AddCommand>();
  options->fresh = fresh;
  options->define(command);
  command.footer(std::string("Example:\n  ") + example);
  command.callback([options, &chosen] { chosen = [options] { options->run(); }; });
}

}  // namespace

void define_index_build(CLI::App& command, Run& chosen) {
  define_one(command, chosen, true,
             "diml index build photos.gallery --model resnet50 --images photos/");
}

void define_index_add(CLI::App& command, Run& chosen) {
  define_one(command, chosen, false, "diml index add photos.gallery --images more/");
}

}  // namespace diml::cli
