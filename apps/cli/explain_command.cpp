#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>

#include "command.h"
#include "diml/error.h"
#include "diml/explain.h"
#include "diml/explain_page.h"
#include "explain_options.h"
#include "network_options.h"
#include "options.h"
#if DIML_HAS_GALLERY
#include "diml/gallery_embedder.h"
#include "gallery_model.h"
#endif

namespace diml::cli {
namespace {

namespace fs = std::filesystem;

// The two that are compared, and what is shown of them.
struct Sides {
  std::vector<GridSet> own;  // of photos, or copied out of a gallery
  std::vector<GridView> grids;
  std::vector<Image> images;
  std::vector<std::string> names;
};

struct ExplainCommand {
  std::string source;
  std::string target;
  std::string gallery;
  NetworkOptions network;
  SolverOptions match;
  std::size_t arrows = 5;
  std::size_t weak = 2;
  std::vector<std::string> outputs;
  std::string json;

  void run();

 private:
  Sides of_photos();
#if DIML_HAS_GALLERY
  Sides of_gallery() const;
#endif
  std::string drawn(const std::string& path, const Explanation& why, const Sides& sides) const;
};

std::string ending_of(const std::string& path) {
  std::string ending = fs::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

void expect_known_ending(const std::string& path) {
  const std::string ending = ending_of(path);
  if (ending == ".html" || ending == ".json") return;
  if (ending == ".png" || ending == ".svg" || ending == ".pdf") {
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
  if (network.model.empty()) {
    throw Error(
        "name what makes grids of the photos: --model M"
#if DIML_HAS_GALLERY
        ", or --gallery GALLERY"
#endif
    );
  }
  std::vector<Image> photos;
  for (const std::string& path : {source, target}) {
    photos.push_back(read_image(path, {.orientation = Orientation::exif}));
  }
  Embedder embedder = network.open(match.threads);
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

#if DIML_HAS_GALLERY
// The id that the text is, or the id of the image of that name; nothing where it is in no gallery.
std::optional<std::int64_t> id_in(const GridSnapshot& snapshot, const std::string& text) {
  std::int64_t id = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, id);
  if (error == std::errc() && stop == end) return id;
  if (const auto found = snapshot.find(text)) return found;
  return snapshot.find(fs::absolute(text).lexically_normal().string());
}

// What the grids of a gallery cover; nothing where it does not know, and whole images are shown.
std::optional<Preprocessing> preprocessing_of(const GridFormat& format) {
  if (!format.embedding.contains("crop")) return std::nullopt;
  Preprocessing preprocessing;
  std::map<std::string, std::string> words = to_text(preprocessing);
  for (auto& [name, value] : words) {
    const auto known = format.embedding.find(name);
    if (known != format.embedding.end()) value = known->second;
  }
  from_text(words, preprocessing);
  return preprocessing;
}

Sides ExplainCommand::of_gallery() const {
  const std::shared_ptr<GridStore> from = open_gallery(gallery);
  const std::unique_ptr<GridSnapshot> snapshot = from->snapshot();
  const std::optional<Preprocessing> preprocessing = preprocessing_of(from->format());
  std::optional<OpenedEmbedder> opened;
  Sides sides;
  for (const std::string& text : {source, target}) {
    std::string file = text;
    std::optional<Image> image;
    if (const auto id = id_in(*snapshot, text)) {
      const GridView grid = snapshot->grid(*id);
      sides.own.emplace_back(set_of({&grid, 1}));
      sides.grids.push_back(sides.own.back()[0]);
      file = snapshot->item(*id).path;
      const std::vector<std::uint8_t> thumbnail = snapshot->thumbnail(*id);
      std::error_code unknown;
      if (!fs::exists(file, unknown)) {
        if (thumbnail.empty())
          throw Error(ErrorKind::not_found,
                      file + ": is gone, and the gallery has no picture of it");
        image = decode_image(thumbnail);
      }
    }
    if (!image) image = read_image(file, {.orientation = Orientation::exif});
    if (sides.grids.size() == sides.images.size()) {  // not in the gallery: as a query would be
      if (!opened) opened = open_embedder_of(*from, settings_of(network, match.threads));
      sides.own.push_back(opened->embedder.embed({&*image, 1}, from->format().type));
      sides.grids.push_back(sides.own.back()[0]);
    }
    sides.images.push_back(preprocessing ? seen_by(*preprocessing, *image) : *image);
    sides.names.push_back(fs::path(file).filename().string());
  }
  return sides;
}
#endif

std::string ExplainCommand::drawn(const std::string& path, const Explanation& why,
                                  const Sides& sides) const {
  const FigureParams params{arrows, weak, sides.names[0], sides.names[1]};
  const std::string ending = ending_of(path);
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

void ExplainCommand::run() {
  const MatchParams params = match.params();
  for (const std::string& path : outputs) expect_known_ending(path);
  if (arrows + weak > kMostArrows) {
    throw Error("--arrows and --weak may be " + std::to_string(kMostArrows) +
                " together: more cannot be told apart");
  }
  std::vector<std::string> written = outputs;
  written.push_back(json);
  expect_own_files(
      gallery.empty() ? std::vector<std::string>{source, target} : std::vector<std::string>{},
      written);
  JsonOutput output(json);
  std::vector<std::unique_ptr<OutputFile>> files;
  for (const std::string& path : outputs) files.push_back(std::make_unique<OutputFile>(path));
#if DIML_HAS_GALLERY
  const Sides sides = gallery.empty() ? of_photos() : of_gallery();
#else
  const Sides sides = of_photos();
#endif
  const Explanation why = explain(sides.grids[0], sides.grids[1], params);
  for (const auto& file : files) {
    file->write(drawn(file->path(), why, sides));
    file->commit();
  }
  if (!json.empty()) output.write(Json::parse(to_json(why)));
  if (!output.takes_standard_output()) print_explanation(why, arrows, weak);
}

}  // namespace

Run define_explain(CLI::App& command) {
  auto options = std::make_shared<ExplainCommand>();
  command.add_option("source", options->source, "The one image")->required();
  command.add_option("target", options->target, "The other")->required();
  options->network.define(command);
  CLI::Option* grid = command.add_option("--grid", options->network.grid, "Cells per side")
                          ->check(CLI::Range(1, 14))
                          ->capture_default_str();
#if DIML_HAS_GALLERY
  command
      .add_option("--gallery", options->gallery,
                  "Images of this gallery by id or path, or photos as its queries")
      ->excludes(grid);
#else
  (void)grid;
#endif
  options->match.define(command);
  command.add_option("--arrows", options->arrows, "Red arrows: the strongest pairs")
      ->capture_default_str();
  command.add_option("--weak", options->weak, "Blue arrows: parts that count least")
      ->capture_default_str();
  command.add_option("--out", options->outputs,
                     "A figure (.svg, .png, .pdf), a page (.html) or .json; may be given again");
  command.add_option("--json", options->json,
                     "The explanation for programs; - for standard output");
  return [options] { options->run(); };
}

}  // namespace diml::cli
