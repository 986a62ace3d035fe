#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/shown_text.h"
#include "base/stopwatch.h"
#include "diml/error.h"
#include "engine/gallery_files.h"
#include "failure.h"
#include "gallery_command.h"
#include "interrupt.h"
#include "options.h"
#include "progress_bar.h"
#if DIML_HAS_NETWORKS
#include "network_options.h"
#endif

namespace diml::cli {
namespace {

struct AddCommand {
  std::string gallery;
  std::string embeddings;
  CellLayout layout = CellLayout::automatic;  // of their cells
  std::string metadata;
  std::string type = "float16";
  bool fresh = false;   // `build`
  bool resume = false;  // of a build
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
  std::string address() const { return shown_gallery(gallery); }
  KnownPaths known() const { return replace ? KnownPaths::replace : KnownPaths::skip; }
  void expect_processes() const;
  void expect_sources() const;
  MetadataByPath loaded_metadata() const {
    return metadata.empty() ? MetadataByPath() : load_metadata(metadata);
  }
  CellType cell_type() const;
  std::shared_ptr<GridStore> opened(const GridFormat& format);
  std::shared_ptr<GridStore> begun_earlier(const GridFormat& wanted) const;
  std::size_t leave_no_empty_gallery() const;
  Error with_gallery_kept(const Error& error, std::size_t done) const;
  AddReport run_embeddings(const Progress& progress);
  AddReport run_images(const Progress& progress);

  static Share share() { return Share(process_place()); }

  bool opened_ = false;
#if DIML_HAS_NETWORKS
  CLI::Option* grid_ = nullptr;  // of a new gallery
#endif
};

void AddCommand::define(CLI::App& command) {
  command.add_option("gallery", gallery, kGalleryHelp)->required();
  command.add_option(
      "--embeddings", embeddings,
      "PREFIX of grids on disk, as 'diml embed' writes them; PREFIX.cells.npy may be "
      "a network's feature maps");
  define_layout(command, layout);
#if DIML_HAS_NETWORKS
  if (fresh) {
    network.define(command);
    grid_ = command.add_option("--grid", network.params.grid, "Cells per side")
                ->check(CLI::Range(1, 14));
  } else {
    network.define_running_of_gallery(command);
  }
  images.split = Split::all;  // a gallery takes all unless told
  images.define_dataset(command, "all");
  images.define_images(command);
#endif
  command.add_option(
      "--metadata", metadata,
      "One line per image: {\"path\": \"a.jpg\", \"label\": \"pug\", \"metadata\": {...}}; the "
      "label or the metadata may be absent");
  if (fresh) {
    command.add_option("--type", type, "Type of the cells: float16, float32 or int8");
    command.add_flag("--resume", resume,
                     "Continue a build that was interrupted or failed: what is there stays");
  } else {
    command.add_flag("--replace", replace, "Embed images again that are in the gallery already");
  }
  define_threads(command, threads);
  command.add_option("--json", json, "What was done, for programs; - for standard output");
}

// A gallery in a database takes the images of any number of processes.
void AddCommand::expect_processes() const {
  if (share().processes() == 1) return;
  const std::string several = std::to_string(share().processes()) + " processes were started";
  if (!is_in_database(gallery)) {
    throw Error(ErrorKind::unsupported,
                address() + ": " + several +
                    ", and one alone fills a gallery on disk: start one, or name a gallery in "
                    "PostgreSQL");
  }
  if (fresh && !resume) {
    throw Error(address() + ": " + several +
                ": --resume says that whoever comes first makes the gallery, and the others "
                "continue");
  }
}

void AddCommand::expect_sources() const {
#if DIML_HAS_NETWORKS
  const bool has_images = !images.images.empty() || !images.dataset.empty();
  if (has_images == !embeddings.empty()) {
    throw Error(
        "name the images in one way: --images DIR, --dataset NAME --root DIR, or --embeddings "
        "PREFIX");
  }
  if (fresh && has_images && network.params.model.empty()) {
    throw Error("images need --model: a .safetensors file, or 'resnet50' after 'diml weights get'");
  }
#else
  if (embeddings.empty()) {
    throw Error("name the grids: --embeddings PREFIX (this build does not embed photos)");
  }
#endif
}

CellType AddCommand::cell_type() const {
  const CellType wanted = cell_type_from(type);
  if (wanted == CellType::bfloat16) throw Error("a gallery stores float16, float32 or int8 cells");
  return wanted;
}

std::shared_ptr<GridStore> AddCommand::opened(const GridFormat& format) {
  if (!fresh) {
    const std::shared_ptr<GridStore> there = open_gallery(gallery, StoreAccess::write);
    opened_ = true;
    return there;
  }
  GridFormat wanted = format;
  wanted.type = cell_type();
  if (resume && gallery_exists(gallery)) {
    const std::shared_ptr<GridStore> there = begun_earlier(wanted);
    opened_ = true;
    return there;
  }
  try {
    const std::shared_ptr<GridStore> made = create_gallery(gallery, wanted);
    opened_ = true;
    return made;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::conflict) throw;
    if (resume && share().processes() > 1) {  // another one was faster
      const std::shared_ptr<GridStore> there = begun_earlier(wanted);
      opened_ = true;
      return there;
    }
    throw with_context(
        error, "", " ('diml index add' adds to it; --resume continues a build that ended early)");
  }
}

std::shared_ptr<GridStore> AddCommand::begun_earlier(const GridFormat& wanted) const {
  const std::shared_ptr<GridStore> there = open_gallery(gallery, StoreAccess::write);
  const GridFormat& before = there->format();
  if (before.type != wanted.type || before.cells_per_grid != wanted.cells_per_grid ||
      before.dim != wanted.dim) {
    throw Error(ErrorKind::conflict, address() + ": was begun with grids of " + shape_text(before) +
                                         ", " + name_of(before.type) + ", not " +
                                         shape_text(wanted) + ", " + name_of(wanted.type) +
                                         ": repeat the call that ended early, or delete it");
  }
  if (before.embedding != wanted.embedding) {
    throw Error(ErrorKind::conflict, address() +
                                         ": was begun with another model or other options: repeat "
                                         "the call that ended early, or delete it");
  }
  return there;
}

// After a failed build: the next build may use its name. Returns how many images it holds.
std::size_t AddCommand::leave_no_empty_gallery() const {
  try {
    if (share().processes() == 1 && remove_empty_gallery(gallery)) return 0;
    return open_gallery(gallery)->snapshot()->size();
  } catch (const Error&) {
    return 0;  // a gallery that cannot be read is not deleted either
  }
}

// done: images of this call.
Error AddCommand::with_gallery_kept(const Error& error, std::size_t done) const {
  if (fresh) {
    const std::size_t items = leave_no_empty_gallery();
    if (items == 0) return error;
    return with_work_kept(error, std::to_string(items) + " images are kept in " + address());
  }
  // The same call passes over what is there.
  if (done == 0) return error;
  return with_context(error, "", "; " + std::to_string(done) + " images before it were added");
}

AddReport AddCommand::run_embeddings(const Progress& progress) {
  const EmbeddingSource source(embeddings, layout);
  tell_layout(source);
  MetadataByPath texts = loaded_metadata();
  GridFormat format;
  format.cells_per_grid = source.cells_per_grid();
  format.dim = source.dim();
#if DIML_HAS_NETWORKS
  // A given model means that the files were made by it.
  if (fresh && !network.params.model.empty()) {
    GridFormat claimed = open_embedder(network.with_threads(threads)).format();
    if (claimed.cells_per_grid != format.cells_per_grid || claimed.dim != format.dim) {
      throw Error(embeddings + ": holds grids of " + shape_text(format) + ", the model gives " +
                  shape_text(claimed) + ": name the model and the --grid that made them");
    }
    format = std::move(claimed);
  } else if (!fresh) {
    const std::shared_ptr<GridStore> there = open_gallery(gallery, StoreAccess::write);
    if (!there->format().embedding.empty() && network.params.model.empty()) {
      throw Error(address() + ": its images were embedded by " + there->format().model +
                  ": add --model to say that " + embeddings + " was too");
    }
    if (!network.params.model.empty())
      (void)open_embedder_of(*there, network.with_threads(threads));
  }
#endif
  const std::shared_ptr<GridStore> target = opened(format);
  const AddReport report = add_embeddings(*target, source, texts, known(), progress, share());
  tell_unused(texts, metadata);
  return report;
}

#if DIML_HAS_NETWORKS
AddReport AddCommand::run_images(const Progress& progress) {
  namespace fs = std::filesystem;
  const LabelledImages chosen = images.load();
  MetadataByPath texts = loaded_metadata();
  const Share own = share();
  std::vector<ImageToAdd> to_add;
  std::size_t queries = 0;
  for (std::size_t i = 0; i < chosen.paths.size(); ++i) {
    // A data set defines which of its images are in the gallery.
    if (!chosen.roles.empty() && chosen.roles[i] == Role::query) {
      ++queries;
      continue;
    }
    // The gallery is opened from other folders too.
    const std::string place = fs::absolute(chosen.paths[i]).lexically_normal().string();
    to_add.push_back({chosen.paths[i], {.path = place, .label = chosen.label_of(i)}});
    put_words(texts, place, to_add.back());
    put_words(texts, chosen.paths[i], to_add.back());
    if (!own.has(place)) to_add.pop_back();
  }
  if (queries > 0) {
    tell_at_end(images.root + ": " + counted_images(queries) +
                " for queries alone, says the data set, and not added");
  }
  tell_unused(texts, metadata);
  if (fresh) (void)cell_type();  // before the model is read
  const auto add = [&](GridStore& target, Embedder& embedder) {
    return add_images(target, embedder, to_add, {chosen.orientation, images.bad(), known()},
                      progress);
  };
  if (fresh) {
    // A calibrated model says which grid is its best.
    if (grid_ != nullptr && grid_->count() == 0 && !network.params.model.empty()) {
      const auto calibration = calibration_of_model(network.params.model);
      if (calibration && calibration->grid != network.params.grid) {
        network.params.grid = calibration->grid;
        tell_at_end("grid " + std::to_string(calibration->grid) +
                    ", for which the model is calibrated (--grid takes another)");
      }
    }
    Embedder embedder = open_embedder(network.with_threads(threads));
    return add(*opened(embedder.format()), embedder);
  }
  const std::shared_ptr<GridStore> there = opened({});
  if (!replace && network.params.model.empty()) {
    // Words alone need no network.
    if (const std::optional<AddReport> updated = update_images(*there, to_add)) return *updated;
  }
  Embedder embedder = open_embedder_of(*there, network.with_threads(threads));
  return add(*there, embedder);
}
#endif

void AddCommand::run() {
  expect_processes();
  expect_sources();
  JsonOutput output(json);
  const Progress bar = progress_bar("index");
  const Stopwatch watch;
  std::size_t done = 0;
  std::size_t total = 0;
  const Progress progress(
      [&](std::size_t so_far, std::size_t all) {
        done = so_far;
        total = all;
        bar(so_far, all);
      },
      Interrupt::asked);
  AddReport report;
  try {
    const Interrupt interrupt;
#if DIML_HAS_NETWORKS
    report = embeddings.empty() ? run_images(progress) : run_embeddings(progress);
#else
    report = run_embeddings(progress);
#endif
  } catch (const Error& error) {
    if (!opened_) throw;
    throw with_gallery_kept(error, done);
  } catch (...) {
    if (opened_ && fresh) leave_no_empty_gallery();
    throw;
  }
  const double seconds = watch.seconds();
#if DIML_HAS_NETWORKS
  report_bad(report.bad, report.added + report.bad.size(), "");
#endif
  if (report.cancelled) {
    throw Error("stopped after " + std::to_string(done) + " of " + std::to_string(total) +
                " images, which are kept: the same command" + (fresh ? " with --resume" : "") +
                " continues");
  }
  const std::size_t items = open_gallery(gallery)->snapshot()->size();
  if (report.changed > 0) {
    tell_at_end(std::to_string(report.changed) +
                " of the images that were there changed on disk since and were not embedded again: "
                "--replace does so, and 'diml index sync' finds them");
  }
  output.write({{"items", items},
                {"added", report.added},
                {"replaced", report.replaced},
                {"known", report.known},
                {"updated", report.updated},
                {"changed_on_disk", report.changed},
                {"bad", report.bad.size()},
                {"seconds", seconds}});
  if (output.takes_standard_output()) return;
  std::printf("%zu images added", report.added);
  if (report.replaced > 0) std::printf(", %zu of them replaced others", report.replaced);
  if (report.known > 0) {
    std::printf(", %zu were there already (%zu got another label or metadata)", report.known,
                report.updated);
  }
  std::printf("; %zu in %s: %.1f s\n", items, shown(address()).c_str(), seconds);
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
