#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/image_names.h"
#include "base/npy.h"
#include "base/shown_text.h"
#include "command.h"
#include "diml/error.h"
#include "diml/explain.h"
#include "diml/figure.h"
#if DIML_HAS_DRAWING
#include "figure_options.h"
#endif
#include "named_images.h"
#include "network_options.h"
#include "options.h"
#include "pictures.h"
#include "print_explanation.h"
#if DIML_HAS_GALLERY
#include "diml/gallery_images.h"
#include "engine/compared_image.h"
#endif

namespace diml::cli {
namespace {

namespace fs = std::filesystem;

// The two compared images, and the pictures that are shown.
struct Sides {
  std::vector<GridSet> own;  // of photos, of files, or copied out of a gallery
  std::vector<GridView> grids;
  std::vector<Image> images;  // none where only numbers are wanted of grids in files
  std::vector<std::string> names;
  std::optional<GridShape> shape{};  // of both grids, where a file tells
};

struct ExplainCommand {
  std::string source;
  std::string target;
  std::string gallery;
  GridOptions features;
  std::string paths;
  std::string pair;
  NetworkOptions network;
  MatchOptions match;
  ScoreWeights weights{};
  std::size_t arrows = 5;
  std::size_t weak = 2;
#if DIML_HAS_DRAWING
  FigureOptions figure;
#endif
  std::vector<std::string> outputs;
  std::string json;
  const CLI::App* command = nullptr;  // tells which options were given

  void run();

 private:
  Sides of_photos();
  Sides of_features() const;
#if DIML_HAS_GALLERY
  Sides of_gallery() const;
#endif
  // Of arrows between cells.
  bool number_given() const {
    return command->get_option("--arrows")->count() + command->get_option("--weak")->count() > 0;
  }
  // Text and JSON are numbers alone.
  bool shows_pictures() const {
    return std::any_of(outputs.begin(), outputs.end(),
                       [](const auto& path) { return lower_case_ending(path) != ".json"; });
  }
  FigureParams figure_params() const;
  std::string drawn(const std::string& path, const Explanation& why, const Sides& sides) const;
  void expect_images() const;
  std::vector<std::string> inputs() const;
};

bool is_figure(const std::string& path) {
  const std::string ending = lower_case_ending(path);
  return ending == ".png" || ending == ".svg" || ending == ".pdf";
}

void expect_known_ending(const std::string& path) {
  const std::string ending = lower_case_ending(path);
  if (ending == ".html" || ending == ".json") return;
  if (is_figure(path)) {
#if DIML_HAS_DRAWING
    return;
#else
    throw Error(ErrorKind::unsupported,
                path +
                    ": this build draws no figures: install libcairo2-dev and build again, or "
                    "write .html or .json");
#endif
  }
  throw Error(path + ": --out ends in .html, .svg, .png, .pdf or .json");
}

Sides ExplainCommand::of_photos() {
  if (network.params.model.empty()) {
    throw Error(
        "name the network for the photos: --model M"
#if DIML_HAS_GALLERY
        ", or --gallery GALLERY"
#endif
    );
  }
  std::vector<Image> photos;
  for (const std::string& path : {source, target}) {
    photos.push_back(read_image(path, {.orientation = Orientation::exif}));
  }
  Embedder embedder = open_embedder(network.with_threads(match.threads));
  Sides sides;
  sides.own.push_back(embedder.embed(photos));
  for (std::size_t k = 0; k < photos.size(); ++k) {
    sides.grids.push_back(sides.own[0][k]);
    sides.images.push_back(seen_by(embedder.preprocessing(), photos[k]));
  }
  for (const std::string& path : {source, target}) {
    sides.names.push_back(fs::path(path).filename().string());
  }
  return sides;
}

// "0,17", two rows of the arrays.
std::vector<std::size_t> rows_of(const std::string& text) {
  std::vector<std::size_t> rows(2);
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto [stop, error] = std::from_chars(at, end, rows[k]);
    const bool last = k + 1 == rows.size();
    if (error != std::errc() || (last ? stop != end : stop == end || *stop != ',')) {
      throw Error("--pair " + text + ": two rows of the arrays are wanted, counted from 0: 0,1");
    }
    at = last ? stop : stop + 1;
  }
  return rows;
}

Sides ExplainCommand::of_features() const {
  const std::vector<std::size_t> rows = rows_of(pair);
  LoadedGrids loaded = features.read(match.threads, rows);
  NamedImages named;
  if (!paths.empty()) named.paths = load_paths(paths, NpyFile(features.cells).shape().front());
  Sides sides;
  const std::size_t cells = loaded.grids.cells_per_grid();
  const GridShape shape =
      loaded.rows > 0 ? GridShape{loaded.rows, cells / loaded.rows} : shape_of_cells(cells);
  sides.shape = shape;
  sides.own.push_back(std::move(loaded.grids));
  const bool shown = shows_pictures();
  Pictures pictures(named, Orientation::exif, named_preprocessing(network.params.preprocessing));
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto image = static_cast<std::int64_t>(rows[k]);
    sides.grids.push_back(sides.own[0][k]);
    sides.names.push_back(named.name_of(image));
    if (shown) sides.images.push_back(pictures.or_grid(image, shape));
  }
  if (shown && paths.empty()) {
    tell_at_end("the pictures are not known, the grids alone are drawn (--paths FILE names them)");
  }
  pictures.tell();
  return sides;
}

#if DIML_HAS_GALLERY
Sides ExplainCommand::of_gallery() const {
  const std::shared_ptr<GridStore> from = open_gallery(gallery);
  const std::unique_ptr<GridSnapshot> snapshot = from->snapshot();
  std::optional<Embedder> embedder;
  const bool shown = shows_pictures();
  Sides sides;
  for (const std::string& text : {source, target}) {
    ComparedImage side;
    if (const auto id = item_called(*snapshot, text)) {
      side = stored_image(*snapshot, *id, shown ? Picture::wanted : Picture::not_wanted);
    } else {  // not in the gallery: embedded like a query
      const Image photo = read_image(text, {.orientation = Orientation::exif});
      if (!embedder) embedder = open_embedder_of(*from, network.with_threads(match.threads));
      side = photo_to_compare(*snapshot, photo, fs::path(text).filename().string(), *embedder);
    }
    sides.own.push_back(std::move(side.grid));
    sides.grids.push_back(sides.own.back()[0]);
    if (shown) sides.images.push_back(std::move(side.image));
    sides.names.push_back(std::move(side.name));
  }
  return sides;
}
#endif

// Throws on flags that nothing can obey, before any work.
FigureParams ExplainCommand::figure_params() const {
  FigureParams params;
  params.strongest = arrows;
  params.weakest = weak;
#if DIML_HAS_DRAWING
  const std::string flag = figure.given();
  if (!flag.empty() && std::none_of(outputs.begin(), outputs.end(), is_figure)) {
    throw Error(flag + " is for a figure: add --out FILE.svg, .png or .pdf");
  }
  figure.apply(params, number_given());
#endif
  return params;
}

std::string ExplainCommand::drawn(const std::string& path, const Explanation& why,
                                  const Sides& sides) const {
  FigureParams params = figure_params();
  params.source_name = sides.names[0];
  params.target_name = sides.names[1];
#if DIML_HAS_DRAWING
  figure.apply(params, number_given());  // names that were given
#endif
  const std::string ending = lower_case_ending(path);
  if (ending == ".json") return to_json(why) + "\n";
  if (ending == ".html") return explain_page(why, sides.images[0], sides.images[1], params);
#if DIML_HAS_DRAWING
  const PictureFormat format = ending == ".png"   ? PictureFormat::png
                               : ending == ".svg" ? PictureFormat::svg
                                                  : PictureFormat::pdf;
  return draw_figure(why, sides.images[0], sides.images[1], format, params);
#else
  throw Error(ErrorKind::unsupported, path + ": this build draws no figures");
#endif
}

void ExplainCommand::expect_images() const {
  const bool photos = !source.empty() && !target.empty();
  if (features.cells.empty() && !photos) {
    throw Error(
        "name two images: A.jpg B.jpg --model M"
#if DIML_HAS_GALLERY
        ", two ids with --gallery GALLERY"
#endif
        ", or --cells C.npy --pair 0,1");
  }
  if (!features.cells.empty() && !source.empty()) {
    throw Error(source + ": --cells compares two rows of its array: name them by --pair alone");
  }
}

// Files that no output may replace.
std::vector<std::string> ExplainCommand::inputs() const {
  if (!features.cells.empty()) return {features.cells, features.globals, paths};
  if (!gallery.empty()) return {};
  return {source, target};
}

void ExplainCommand::run() {
  expect_images();
  const MatchParams params = match.params();
  for (const std::string& path : outputs) expect_known_ending(path);
  if (arrows + weak > kMostArrows) {
    throw Error("--arrows and --weak may be at most " + std::to_string(kMostArrows) +
                " together: more cannot be distinguished");
  }
  figure_params();
  std::vector<std::string> written = outputs;
  written.push_back(json);
  expect_own_files(inputs(), written);
  JsonOutput output(json);
  std::vector<std::unique_ptr<OutputFile>> files;
  for (const std::string& path : outputs) files.push_back(std::make_unique<OutputFile>(path));
  const Sides sides = !features.cells.empty() ? of_features()
#if DIML_HAS_GALLERY
                      : !gallery.empty() ? of_gallery()
#endif
                                         : of_photos();
  const Explanation why = sides.shape ? explain(sides.grids[0], sides.grids[1], params,
                                                *sides.shape, *sides.shape, weights)
                                      : explain(sides.grids[0], sides.grids[1], params, weights);
  for (const auto& file : files) {
    file->write(drawn(file->path(), why, sides));
    file->commit();
  }
  if (!json.empty()) output.write(Json::parse(to_json(why)));
  if (output.takes_standard_output()) return;
  if (!features.cells.empty()) {
    std::printf("%s and %s\n", shown(sides.names[0]).c_str(), shown(sides.names[1]).c_str());
  }
  print_explanation(why, arrows, weak);
}

}  // namespace

Run define_explain(CLI::App& command) {
  auto options = std::make_shared<ExplainCommand>();
  options->command = &command;
  command.add_option("source", options->source, "The one image");
  command.add_option("target", options->target, "The other");
  options->network.define(command);
  CLI::Option* grid = command.add_option("--grid", options->network.params.grid, "Cells per side")
                          ->check(CLI::Range(1, 14));
#if DIML_HAS_GALLERY
  command
      .add_option(
          "--gallery", options->gallery,
          "Compare images of this gallery, by id or path, or photos embedded like its queries")
      ->excludes(grid);
#endif
  options->features.define(command);
  CLI::Option* cells = command.get_option("--cells");
  CLI::Option* pair =
      command.add_option("--pair", options->pair, "Two rows of the arrays, counted from 0: 0,17");
  CLI::Option* paths = command.add_option(
      "--paths", options->paths, "Files of the images, one per line, as embed writes them");
  cells->needs(pair);
  for (CLI::Option* option : {pair, paths, command.get_option("--globals"),
                              command.get_option("--layout"), command.get_option("--storage")}) {
    option->needs(cells);
  }
  cells->excludes(grid);
  cells->excludes("--model");
#if DIML_HAS_GALLERY
  cells->excludes("--gallery");
#endif
  options->match.define(command, "--matcher,--solver");
  define_weights(command, options->weights);
  command.add_option("--arrows", options->arrows, "Red: the strongest pairs");
  command.add_option("--weak", options->weak, "Blue: parts that count least");
  command.add_option("--out", options->outputs,
                     "A figure (.svg, .png, .pdf), a page (.html) or .json; may be given again");
  command.add_option("--json", options->json,
                     "The explanation for programs; - for standard output");
#if DIML_HAS_DRAWING
  options->figure.define(command);
#endif
  return [options] { options->run(); };
}

}  // namespace diml::cli
