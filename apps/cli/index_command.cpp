#include <cstdio>
#include <filesystem>
#include <set>

#include "base/shown_text.h"
#include "diml/approximate_index.h"
#include "diml/error.h"
#include "engine/gallery_files.h"
#include "engine/index_gallery.h"
#include "failure.h"
#include "gallery_command.h"
#include "interrupt.h"
#include "options.h"
#include "progress_bar.h"

namespace diml::cli {
namespace {

constexpr std::size_t kShown = 20;  // of a long list

struct Options {
  std::string gallery;
  std::string json;
  std::string out;
  std::string kind = "hnsw";
  int threads = 0;
  std::vector<std::int64_t> ids;
  std::vector<std::string> paths;
};

std::shared_ptr<Options> with_gallery(CLI::App& command, const char* example) {
  auto options = std::make_shared<Options>();
  command.add_option("gallery", options->gallery, kGalleryHelp)->required();
  command.footer(std::string("Example:\n  ") + example);
  return options;
}

void add_json(CLI::App& command, Options& options) {
  command.add_option("--json", options.json, "For programs; - for standard output");
}

std::optional<std::int64_t> find_path(const GridSnapshot& snapshot, const std::string& path) {
  const std::optional<std::int64_t> id = snapshot.find(path);
  if (id) return id;
  return snapshot.find(std::filesystem::absolute(path).lexically_normal().string());
}

// One path, or several with commas between them. A name may contain commas itself, so the whole
// text is tried first.
std::vector<std::int64_t> named_by(const GridSnapshot& snapshot, const std::string& text) {
  if (const auto whole = find_path(snapshot, text)) return {*whole};
  std::vector<std::int64_t> ids;
  for (const std::string& path : CLI::detail::split(text, ',')) {
    const auto id = find_path(snapshot, path);
    if (!id) {
      const std::string missing = ids.empty() ? text : path;
      throw Error(ErrorKind::not_found,
                  "the gallery has no image " + missing + ": nothing was removed");
    }
    ids.push_back(*id);
  }
  return ids;
}

void run_remove(const Options& options) {
  if (options.ids.empty() && options.paths.empty()) {
    throw Error("name the images to remove: --ids 3,17 or --paths a.jpg,b.jpg");
  }
  JsonOutput output(options.json);
  const std::shared_ptr<GridStore> gallery = open_gallery(options.gallery, StoreAccess::write);
  std::vector<std::int64_t> ids = options.ids;
  for (const std::string& path : options.paths) {
    for (const std::int64_t id : named_by(*gallery->snapshot(), path)) ids.push_back(id);
  }
  gallery->remove(ids);
  const std::size_t left = gallery->snapshot()->size();
  const std::size_t removed = std::set<std::int64_t>(ids.begin(), ids.end()).size();
  output.write({{"removed", removed}, {"items", left}});
  if (output.takes_standard_output()) return;
  std::printf("%zu removed, %zu left in %s\n", removed, left, shown(gallery->name()).c_str());
}

Json json_of(const std::map<std::size_t, double>& recall) {
  Json json = Json::object();
  for (const auto& [depth, share] : recall) json[std::to_string(depth)] = share;
  return json;
}

void print_recall(const Json& recall) {
  std::printf("recall against exact search:");
  for (const char* depth : {"1", "10", "100"}) {
    if (recall.contains(depth)) std::printf(" @%s %.4f ", depth, recall[depth].get<double>());
  }
  std::printf("\n");
}

// Whether there is an index, and whether it is up to date.
Json index_state(const GridStore& gallery, const GridSnapshot& snapshot) {
  if (const auto own = gallery.own_index()) {
    return {{"kind", own->kind},   {"items", snapshot.size()},       {"up_to_date", true},
            {"bytes", own->bytes}, {"recall", json_of(own->recall)}, {"measured_with", own->items}};
  }
  const std::string path = index_file(gallery.name());
  if (!std::filesystem::exists(path)) return nullptr;
  if (!has_approximate_index()) return {{"readable", false}};
  try {
    const auto index = load_index(path);
    const bool current = index->origin() == IndexOrigin{snapshot.birth(), snapshot.revision()};
    return {{"kind", name_of(index->kind())}, {"items", index->size()}, {"up_to_date", current}};
  } catch (const Error&) {
    return {{"readable", false}};
  }
}

void run_info(const Options& options) {
  JsonOutput output(options.json);
  const std::shared_ptr<GridStore> gallery = open_gallery(options.gallery);
  const std::unique_ptr<GridSnapshot> snapshot = gallery->snapshot();
  const GridFormat& format = gallery->format();
  const GridStore::Space space = gallery->space();
  const StoreSummary summary = snapshot->summary();
  Json json = {{"gallery", gallery->name()},
               {"items", snapshot->size()},
               {"labels", summary.labels},
               {"cells_per_grid", format.cells_per_grid},
               {"dim", format.dim},
               {"type", name_of(format.type)},
               {"revision", snapshot->revision()},
               {"bytes", space.used},
               {"bytes_free", space.free},
               {"bytes_most", space.most == 0 ? Json() : Json(space.most)},
               {"model", format.model},
               {"embedding", format.embedding},
               {"index", index_state(*gallery, *snapshot)}};
  if (summary.first_id >= 0) {
    json["first_id"] = summary.first_id;
    json["last_id"] = summary.last_id;
  }
  output.write(json);
  if (output.takes_standard_output()) return;
  std::printf("%s: %zu images", shown(gallery->name()).c_str(), snapshot->size());
  if (summary.first_id >= 0) {
    std::printf(", ids %lld to %lld", static_cast<long long>(summary.first_id),
                static_cast<long long>(summary.last_id));
  }
  std::printf(", %zu labels\n", summary.labels);
  std::printf("grids      %s, %s cells\n", shape_text(format).c_str(), name_of(format.type));
  std::printf("on disk    %s, of which %s are free for reuse; revision %llu\n",
              size_text(space.used).c_str(), size_text(space.free).c_str(),
              static_cast<unsigned long long>(snapshot->revision()));
  if (space.is_nearly_full()) {
    tell_at_end(gallery->name() + ": is nearly full: " + size_text(space.used - space.free) +
                " of the " + size_text(space.most) +
                " of addresses that this process has got: raise ulimit -v, or compact it");
  }
  std::printf("model      %s\n",
              format.embedding.empty() ? "unknown" : shown(format.model).c_str());
  for (const auto& [name, value] : format.embedding) {
    std::printf("  %-11s %s\n", shown(name).c_str(), shown(value).c_str());
  }
  const Json& index = json["index"];
  if (index.is_null()) {
    std::printf("index      none: searched exactly\n");
  } else if (!index.contains("kind")) {
    std::printf("index      cannot be read: 'diml index cache' makes a new one\n");
  } else {
    std::printf("index      %s of %zu images, %s\n", index["kind"].get<std::string>().c_str(),
                index["items"].get<std::size_t>(),
                index["up_to_date"].get<bool>() ? "up to date" : "out of date");
    if (index.contains("recall")) {
      std::printf("  of %zu images, ", index["measured_with"].get<std::size_t>());
      print_recall(index["recall"]);
    }
  }
}

// "" for none: the index is whole, or there is none.
std::string fault_of_index(const std::string& folder) {
  const std::string path = index_file(folder);
  if (!has_approximate_index() || !std::filesystem::exists(path)) return "";
  try {
    (void)load_index(path);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

void run_verify(const Options& options) {
  JsonOutput output(options.json);
  const std::shared_ptr<GridStore> gallery = open_gallery(options.gallery);
  const std::unique_ptr<GridSnapshot> snapshot = gallery->snapshot();
  StoreFaults found = snapshot->verify(progress_bar("verify"));
  const std::size_t of_gallery = found.faults.size();
  if (const std::string fault = fault_of_index(options.gallery); !fault.empty()) {
    found.faults.push_back(fault);
  }
  output.write({{"items", found.items}, {"damaged", found.damaged}, {"faults", found.faults}});
  if (found.faults.empty()) {
    if (!output.takes_standard_output()) {
      std::printf("%s: %zu images, all as they were written\n", shown(gallery->name()).c_str(),
                  found.items);
    }
    return;
  }
  for (std::size_t k = 0; k < std::min(kShown, found.faults.size()); ++k) {
    std::fprintf(stderr, "  %s\n", shown_message(found.faults[k]).c_str());
  }
  if (found.faults.size() > kShown) {
    std::fprintf(stderr, "  and %zu more\n", found.faults.size() - kShown);
  }
  std::string ids;
  for (const std::int64_t id : found.damaged) {
    if (!ids.empty()) ids += ',';
    ids += std::to_string(id);
  }
  const std::string& name = gallery->name();
  const bool is_folder = std::filesystem::exists(options.gallery);
  std::string remedy = is_folder ? "restore a backup ('diml index restore BACKUP " + name +
                                       "'), or take out what is whole ('diml index salvage " +
                                       name + " NEW')"
                                 : "restore a backup of its database";
  if (of_gallery == 0) {
    remedy = "the gallery itself is whole; 'diml index cache " + name + "' makes a new index";
  } else if (!ids.empty()) {
    remedy = "restore a backup, or 'diml index remove " + name + " --ids " + ids +
             "' removes the damaged images; add them again";
  }
  throw Error(ErrorKind::damaged,
              gallery->name() + ": " + std::to_string(found.faults.size()) + " faults: " + remedy);
}

void run_export(const Options& options) {
  const std::shared_ptr<GridStore> gallery = open_gallery(options.gallery);
  const std::unique_ptr<GridSnapshot> snapshot = gallery->snapshot();
  if (snapshot->size() == 0)
    throw Error(gallery->name() + ": is empty: there is nothing to export");
  export_gallery(*snapshot, options.out, progress_bar("export"));
  std::printf("%zu images in %s.{cells,globals,labels}.npy, .paths.txt, .items.jsonl\n",
              snapshot->size(), shown(options.out).c_str());
}

void run_cache(const Options& options) {
  JsonOutput output(options.json);
  const StoreAccess access = options.kind == "pgvector" ? StoreAccess::write : StoreAccess::read;
  const std::shared_ptr<GridStore> gallery = open_gallery(options.gallery, access);
  const Interrupt interrupt;
  const StoreIndex made = or_stopped(
      [&] {
        return index_gallery(*gallery, options.kind, options.threads,
                             progress_bar("index").with(Interrupt::asked), progress_bar("recall"));
      },
      [&] {
        return options.kind == "pgvector" ? "stopped: the gallery has no index of kind pgvector now"
                                          : "stopped: the gallery's index is as it was";
      });
  if (!made.caution.empty()) tell_at_end("its server says: " + made.caution);
  const Json recall = json_of(made.recall);
  output.write({{"kind", made.kind},
                {"items", made.items},
                {"bytes", made.bytes},
                {"seconds", made.seconds},
                {"recall", recall}});
  if (output.takes_standard_output()) return;
  std::printf("%s index of %zu images: %.1f s, %s\n", made.kind.c_str(), made.items, made.seconds,
              size_text(made.bytes).c_str());
  print_recall(recall);
}

}  // namespace

void tell_layout(const EmbeddingSource& source) {
  if (!source.layout().empty()) tell_at_end(source.layout());
  // A gallery keeps the number of cells: its rows and columns follow from it.
  const std::size_t rows = source.rows();
  const GridShape shape = shape_of_cells(source.cells_per_grid());
  if (rows == 0 || rows == shape.rows) return;
  tell_at_end(
      "its maps of " + std::to_string(rows) + " x " +
      std::to_string(source.cells_per_grid() / rows) + " cells are drawn as " +
      std::to_string(shape.rows) + " x " + std::to_string(shape.cols) +
      ": a gallery stores only their number; scores without a prior depend on nothing else");
}

std::string size_text(std::uint64_t bytes) {
  constexpr double kStep = 1000.0;
  double value = static_cast<double>(bytes);
  const char* const units[] = {"bytes", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (value >= kStep && unit + 1 < std::size(units)) {
    value /= kStep;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

void tell_unused(const MetadataByPath& metadata, const std::string& file) {
  const std::size_t unused = unused_lines(metadata);
  if (unused == 0) return;
  tell_at_end(file + ": " + std::to_string(unused) + " of " + std::to_string(metadata.size()) +
              " paths name none of these images and were not used");
}

void define_index_remove(CLI::App& command, Run& chosen) {
  const auto options = with_gallery(command, "diml index remove photos.gallery --ids 3,17");
  command.add_option("--ids", options->ids, "Ids, with commas between them")->delimiter(',');
  command.add_option("--paths", options->paths, "Paths, with commas or spaces between them");
  add_json(command, *options);
  command.callback([options, &chosen] { chosen = [options] { run_remove(*options); }; });
}

void define_index_info(CLI::App& command, Run& chosen) {
  const auto options = with_gallery(command, "diml index info photos.gallery");
  add_json(command, *options);
  command.callback([options, &chosen] { chosen = [options] { run_info(*options); }; });
}

void define_index_verify(CLI::App& command, Run& chosen) {
  const auto options = with_gallery(command, "diml index verify photos.gallery");
  add_json(command, *options);
  command.callback([options, &chosen] { chosen = [options] { run_verify(*options); }; });
}

void define_index_export(CLI::App& command, Run& chosen) {
  const auto options = with_gallery(command, "diml index export photos.gallery --out photos");
  command.add_option("--out", options->out, "PREFIX of the files: PREFIX.cells.npy and so on")
      ->required();
  command.callback([options, &chosen] { chosen = [options] { run_export(*options); }; });
}

void define_index_cache(CLI::App& command, Run& chosen) {
  const auto options = with_gallery(command, "diml index cache photos.gallery --kind hnsw");
  command.add_option("--kind", options->kind,
                     "hnsw (near exact) or ivf-pq (small); pgvector in PostgreSQL");
  define_threads(command, options->threads);
  add_json(command, *options);
  command.callback([options, &chosen] { chosen = [options] { run_cache(*options); }; });
}

Run define_index(CLI::App& command) {
  command.require_subcommand(0, 1);  // a missing and a wrong word give different errors
  auto chosen = std::make_shared<Run>();
  const auto add = [&](const char* name, const char* about, void (*define)(CLI::App&, Run&)) {
    define(*command.add_subcommand(name, about), *chosen);
  };
  add("build", "Build a gallery of photos, or of grids on disk", define_index_build);
  add("add", "Add images to a gallery", define_index_add);
#if DIML_HAS_NETWORKS
  add("sync", "Bring a gallery up to date with a folder", define_index_sync);
#endif
  add("remove", "Remove images from a gallery", define_index_remove);
  add("info", "What a gallery holds", define_index_info);
  add("list", "The images of a gallery: ids, labels, paths and metadata", define_index_list);
  add("verify", "Check a gallery for damage", define_index_verify);
  add("export", "Write grids, labels and texts to files", define_index_export);
  add("copy", "Copy a gallery, into PostgreSQL or out of it", define_index_copy);
  add("shard", "Lay a new gallery in PostgreSQL over several databases", define_index_shard);
  add("cache", "Build an approximate index for large galleries", define_index_cache);
  add("backup", "Copy a gallery while it is in use", define_index_backup);
  add("restore", "Put a backup in the place of a gallery", define_index_restore);
  add("compact", "Free the space of removed images", define_index_compact);
  add("salvage", "Take everything whole out of a damaged gallery", define_index_salvage);
  return [chosen] {
    if (!*chosen)
      throw CLI::RequiredError(
          "build, add, remove, sync, info, list, verify, export, copy, shard, cache, backup, "
          "restore, compact or salvage");
    (*chosen)();
  };
}

}  // namespace diml::cli
