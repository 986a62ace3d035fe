#include "network_options.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "base/image_names.h"
#include "base/input_file.h"
#include "base/sha256.h"
#include "base/shown_text.h"
#include "command.h"
#include "datasets/images_below.h"
#include "diml/dataset.h"
#include "diml/error.h"
#include "messages.h"
#include "options.h"

namespace diml::cli {
namespace {

namespace fs = std::filesystem;

void tell_unreadable(const UnreadableImages& left_out, const std::string& folder) {
  if (!left_out.empty()) tell_at_end(folder + ": " + text_of(left_out));
}

std::vector<std::string> images_in(const std::string& folder) {
  ImagesBelow found = images_below(folder);
  tell_unreadable(found.unreadable, folder);
  if (found.paths.empty())
    throw Error(ErrorKind::not_found,
                folder + ": has no " + readable_image_formats() + " files in it");
  return std::move(found.paths);
}

std::vector<std::string> images_listed(const std::string& list) {
  std::vector<std::string> paths;
  try {
    paths = read_names(list);
  } catch (const Error& error) {
    throw with_context(error, "", ": name a folder, or a file with one path per line");
  }
  std::erase(paths, "");
  if (paths.empty()) throw Error(list + ": lists no images; write one path per line");
  const auto missing = std::find_if(paths.begin(), paths.end(),
                                    [](const std::string& path) { return !fs::exists(path); });
  if (missing != paths.end())
    throw Error(ErrorKind::not_found, list + ": lists " + *missing + ", which is not there");
  return paths;
}

}  // namespace

void tell_left_out(const Dataset& data, const std::string& root, Split split) {
  for (const std::string& line : left_out_of(data, root)) tell_at_end(line);
  if (data.in_other_splits == 0) return;
  const std::size_t taken = data.samples.size();
  tell_at_end(root + ": " + std::to_string(taken) + " of " +
              std::to_string(taken + data.in_other_splits) + " images, those of the " +
              name_of(split) + " split; --split all takes all of them");
}

void tell_without_role(const LabelledImages& images, const std::string& root) {
  if (images.without_role == 0) return;
  tell_at_end(root + ": " + counted_images(images.without_role) +
              " neither for queries nor for the gallery, and left out");
}

std::string counted_images(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " image is" : " images are");
}

void define_preprocessing(CLI::App& command, std::map<std::string, std::string>& overrides) {
  const auto add = [&](const char* name, const char* help) {
    command.add_option_function<std::string>(
        std::string("--") + name,
        [&overrides, name](const std::string& value) { overrides[name] = value; }, help);
  };
  add("resize", "Short side in pixels before the crop, in place of the weights' own");
  add("crop", "Side in pixels of the centre crop that the network sees");
  add("interpolation", "Of the resize: bilinear or bicubic, in place of the weights' own");
  add("channels", "rgb or bgr");
  add("mean", "Three grey levels of 0 to 255 that are subtracted: 123.7,116.3,103.5");
  add("std", "Three grey levels that the result is divided by");
}

void NetworkOptions::define(CLI::App& command) {
  command.add_option(
      "--model", params.model,
      "Weights (.safetensors), a TorchScript program, or the name of fetched weights");
  add_choice(command, "--pooling", params.pooling, pooling_rule_from,
             "How the map becomes a grid: align or roi_align");
  command.add_flag_callback(
      "--no-projection", [this] { params.projection = false; },
      "The network's own map, without projection");
  define_running(command);
  define_preprocessing(command, params.preprocessing);
}

void NetworkOptions::define_running(CLI::App& command) {
  add_choice(command, "--precision", params.precision, precision_from,
             "float32 or bfloat16 (about twice as fast on some CPUs)");
  add_choice(command, "--backend", params.backend, network_backend_from,
             "What runs the network: auto, onednn or torch");
  command.add_option("--device", params.device,
                     "Where the network runs: cpu, cuda or cuda:1 (any number; needs LibTorch)");
  command.add_option("--batch", params.batch, "Images in one forward pass; 8, or 256 on a GPU")
      ->check(CLI::Range(1, 1024))
      ->default_str("");
}

void NetworkOptions::define_running_of_gallery(CLI::App& command) {
  command.add_option("--model", params.model, "The gallery's model, if its file was moved");
  define_running(command);
}

EmbeddingParams NetworkOptions::with_threads(int threads) const {
  EmbeddingParams with = params;
  with.threads = threads;
  return with;
}

std::string description_of(const Embedder& embedder) {
  const EmbeddingParams& params = embedder.params();
  std::string text = embedder.format().embedding.at("sha256") + " " + embedder.network_name() +
                     " " + name_of(params.precision) + " " +
                     (params.device == "cpu" ? "" : "cuda ") + name_of(params.pooling) + " grid " +
                     std::to_string(params.grid) + " batch " + std::to_string(params.batch) +
                     (params.projection ? "" : " no-projection");
  for (const auto& [name, value] : to_text(embedder.preprocessing())) {
    text.append(" ").append(name).append(" ").append(value);
  }
  return text;
}

void ImageOptions::define_dataset(CLI::App& command, const std::string& default_split) {
  std::string kinds;
  for (const DatasetKind& kind : dataset_kinds()) {
    kinds += std::string(kinds.empty() ? "" : ", ") + kind.name;
  }
  CLI::Option* name = command.add_option("--dataset", dataset, "Labelled images: " + kinds);
  CLI::Option* folder = command.add_option("--root", root, "Folder of the data set");
  name->needs(folder);
  folder->needs(name);
  command.add_option_function<std::string>(
      "--split", [this](const std::string& text) { split = split_from(text); },
      "test, train or all. Without it: " + default_split);
  command.add_flag("--skip-bad", skip_bad, "Skip images that cannot be read, and list them");
}

void ImageOptions::define_images(CLI::App& command) {
  command
      .add_option("--images", images,
                  "A folder of images, or a text file with one path per line; no labels")
      ->excludes("--dataset");
}

LabelledImages ImageOptions::load() const {
  LabelledImages loaded;
  if (images.empty()) {
    const Split wanted = chosen_split();
    const Dataset data = load_dataset(dataset, root, wanted);
    loaded = labelled_images(data);
    if (loaded.paths.empty()) {
      throw Error(root + ": no image of this split is a query or in the gallery");
    }
    tell_left_out(data, root, wanted);
    tell_without_role(loaded, root);
    return loaded;
  }
  loaded.paths = fs::is_directory(images) ? images_in(images) : images_listed(images);
  loaded.labels.assign(loaded.paths.size(), -1);
  loaded.orientation = Orientation::exif;
  return loaded;
}

std::string fingerprint_of(const LabelledImages& images, const std::string& description) {
  Sha256 sha;
  const auto add = [&](const std::string& text) {
    sha.update({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  add(description + "\n");
  for (std::size_t i = 0; i < images.paths.size(); ++i) {
    const int role = images.roles.empty() ? 0 : static_cast<int>(images.roles[i]);
    add(images.paths[i] + " " + images.label_of(i) + " " + std::to_string(role) + "\n");
  }
  return sha.hex();
}

void report_bad(const std::vector<std::string>& reasons, std::size_t total,
                const std::string& complete_list) {
  constexpr std::size_t kShown = 20;
  if (reasons.empty() || !is_shown(LogLevel::warning)) return;
  std::cerr << reasons.size() << " of " << total << " images could not be read and were left out";
  if (!complete_list.empty()) std::cerr << " (all of them: " << shown(complete_list) << ")";
  std::cerr << ":\n";
  for (std::size_t k = 0; k < std::min(kShown, reasons.size()); ++k) {
    std::cerr << "  " << shown_message(reasons[k]) << "\n";
  }
  if (reasons.size() > kShown) std::cerr << "  and " << reasons.size() - kShown << " more\n";
}

}  // namespace diml::cli
