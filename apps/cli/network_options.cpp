#include "network_options.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/sha256.h"
#include "base/system_error.h"
#include "diml/dataset.h"
#include "diml/error.h"
#include "diml/open_network.h"

namespace diml::cli {
namespace {

namespace fs = std::filesystem;

bool looks_like_image(const fs::path& path) {
  std::string end = path.extension().string();
  std::transform(end.begin(), end.end(), end.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return end == ".jpg" || end == ".jpeg" || end == ".png" || end == ".webp";
}

// above: the folders that this one lies in, so that a link back to one of them ends there.
void collect_images(const fs::path& folder, std::vector<fs::path>& above,
                    std::vector<std::string>& paths) {
  const fs::path place = fs::canonical(folder);
  if (std::find(above.begin(), above.end(), place) != above.end()) return;
  above.push_back(place);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) {
      collect_images(entry.path(), above, paths);
    } else if (entry.is_regular_file() && looks_like_image(entry.path())) {
      paths.push_back(entry.path().string());
    }
  }
  above.pop_back();
}

std::vector<std::string> images_in(const std::string& folder) {
  std::vector<fs::path> above;
  std::vector<std::string> paths;
  try {
    collect_images(folder, above, paths);
  } catch (const fs::filesystem_error& error) {
    throw system_error(error.path1().string() + ": cannot be read", error.code());
  }
  std::sort(paths.begin(), paths.end());
  if (paths.empty())
    throw Error(ErrorKind::not_found, folder + ": has no .jpg, .jpeg, .png or .webp files in it");
  return paths;
}

std::vector<std::string> images_listed(const std::string& list) {
  std::ifstream file(list);
  if (!file) {
    throw with_context(system_error(list + ": cannot be opened", errno), "",
                       ": name a folder, or a file with a path a line");
  }
  std::vector<std::string> paths;
  std::string line;
  while (std::getline(file, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) paths.push_back(line);
  }
  if (paths.empty()) throw Error(list + ": lists no images; one path a line is wanted");
  const auto missing = std::find_if(paths.begin(), paths.end(),
                                    [](const std::string& path) { return !fs::exists(path); });
  if (missing != paths.end())
    throw Error(ErrorKind::not_found, list + ": lists " + *missing + ", which is not there");
  return paths;
}

}  // namespace

void PreprocessingOptions::define(CLI::App& command) {
  const auto add = [&](const char* name, const char* help) {
    command.add_option_function<std::string>(
        std::string("--") + name, [this, name](const std::string& value) { values[name] = value; },
        help);
  };
  add("resize", "Short side in pixels before the crop, where the weights say otherwise");
  add("crop", "Pixels a side of the middle that the network sees");
  add("channels", "rgb or bgr");
  add("mean", "Three grey levels of 0 to 255 that are subtracted: 123.7,116.3,103.5");
  add("std", "Three grey levels that it is divided by");
}

void NetworkOptions::define(CLI::App& command) {
  command.add_option(
      "--model", model,
      "Weights (.safetensors), a TorchScript program, or the name of fetched weights");
  command.add_option("--pooling", pooling, "How the map becomes a grid: align or roi_align")
      ->capture_default_str();
  command.add_flag("--no-projection", no_projection, "The network's own map, without projection");
  define_running(command);
  preprocessing.define(command);
}

void NetworkOptions::define_running(CLI::App& command) {
  command
      .add_option("--precision", precision,
                  "float32 or bfloat16 (about twice as fast on some CPUs)")
      ->capture_default_str();
  command.add_option("--backend", backend, "What runs the network: auto, onednn or torch")
      ->capture_default_str();
  command
      .add_option("--device", device,
                  "Where the network runs: cpu, cuda or cuda:1 (any number; needs LibTorch)")
      ->capture_default_str();
  command.add_option("--batch", batch, "Images in one forward pass; 8, or 256 on a GPU")
      ->check(CLI::Range(1, 1024));
}

Embedder NetworkOptions::open(int threads) {
  if (batch == 0) batch = default_batch(device);
  OpenNetworkParams params;
  params.network.device = device;
  params.network.precision = precision_from(precision);
  params.network.projection = !no_projection;
  params.network.threads = threads;
  params.backend = backend;
  params.preprocessing = preprocessing.values;
  const PoolingRule rule = pooling_rule_from(pooling);
  OpenedNetwork opened = open_network(model, params);
  description_ = opened.fingerprint + " " + opened.network->name() + " " + precision + " " +
                 (device == "cpu" ? "" : "cuda ") + pooling + " grid " + std::to_string(grid) +
                 " batch " + std::to_string(batch) + (no_projection ? " no-projection" : "");
  for (const auto& [name, value] : to_text(opened.preprocessing)) {
    description_.append(" ").append(name).append(" ").append(value);
  }
  return {std::move(opened.network), opened.preprocessing, {grid, rule, batch, threads}};
}

void ImageOptions::define_dataset(CLI::App& command) {
  std::string kinds;
  for (const DatasetKind& kind : dataset_kinds()) {
    kinds += std::string(kinds.empty() ? "" : ", ") + kind.name;
  }
  CLI::Option* name = command.add_option("--dataset", dataset, "Labelled images: " + kinds);
  CLI::Option* folder = command.add_option("--root", root, "Where the data set lies");
  name->needs(folder);
  folder->needs(name);
  command.add_option("--split", split, "test, train or all")->capture_default_str();
  command.add_flag("--skip-bad", skip_bad,
                   "Go on without images that cannot be read, and say which");
}

void ImageOptions::define_images(CLI::App& command) {
  command
      .add_option("--images", images,
                  "A folder of images, or a text file with a path a line; no labels")
      ->excludes("--dataset");
}

LabelledImages ImageOptions::load() const {
  LabelledImages loaded;
  if (images.empty()) {
    loaded = labelled_images(load_dataset(dataset, root, split_from(split)));
    if (loaded.paths.empty()) {
      throw Error(root + ": no image of this split is a query or in the gallery");
    }
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
    add(images.paths[i] + " " + std::to_string(images.labels[i]) + " " + std::to_string(role) +
        "\n");
  }
  return sha.hex();
}

void report_bad(const std::vector<std::string>& reasons, std::size_t total,
                const std::string& complete_list) {
  constexpr std::size_t kShown = 20;
  if (reasons.empty()) return;
  std::cerr << reasons.size() << " of " << total << " images could not be read and were left out";
  if (!complete_list.empty()) std::cerr << " (all of them: " << complete_list << ")";
  std::cerr << ":\n";
  for (std::size_t k = 0; k < std::min(kShown, reasons.size()); ++k) {
    std::cerr << "  " << reasons[k] << "\n";
  }
  if (reasons.size() > kShown) std::cerr << "  and " << reasons.size() - kShown << " more\n";
}

}  // namespace diml::cli
