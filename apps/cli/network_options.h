#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "diml/dataset.h"
#include "diml/embedder.h"
#include "diml/evaluate_dataset.h"

namespace diml::cli {

// --resize, --crop, --channels, --mean and --std, into overrides of the weights' own.
void define_preprocessing(CLI::App& command, std::map<std::string, std::string>& overrides);

// A trained network and how it runs, for every command that embeds images.
struct NetworkOptions {
  EmbeddingParams params{};

  void define(CLI::App& command);
  void define_running(CLI::App& command);  // options of how the network runs
  // The same for the model of a gallery.
  void define_running_of_gallery(CLI::App& command);
  EmbeddingParams with_threads(int threads) const;
};

// All settings that affect the results, besides the images, in one line.
std::string description_of(const Embedder& embedder);

// Images by data set or by folder or list.
struct ImageOptions {
  std::string dataset;
  std::string root;
  std::optional<Split> split{};  // none: what the data set's protocol evaluates
  std::string images;
  bool skip_bad = false;

  void define_dataset(CLI::App& command,
                      const std::string& default_split =
                          "test for cub200, cars196, sop, critters and csv, all for a folder");
  void define_images(CLI::App& command);
  // Says on standard error how many images are left out, and why.
  LabelledImages load() const;
  Split chosen_split() const { return split ? *split : dataset_kind(dataset).evaluated; }
  BadImages bad() const { return skip_bad ? BadImages::skip : BadImages::stop; }
};

// On standard error: what a data set leaves out, with counts and reasons.
void tell_left_out(const Dataset& data, const std::string& root, Split split);
void tell_without_role(const LabelledImages& images, const std::string& root);
// "1 image is", "2 images are": the start of such a line.
std::string counted_images(std::size_t count);

// A hash of everything that the grids of these images depend on. description: description_of().
std::string fingerprint_of(const LabelledImages& images, const std::string& description);

// The images that --skip-bad skipped, on standard error: how many, and which.
void report_bad(const std::vector<std::string>& reasons, std::size_t total,
                const std::string& complete_list);

}  // namespace diml::cli
