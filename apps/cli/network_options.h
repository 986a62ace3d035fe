#pragma once

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "diml/embedder.h"
#include "diml/labelled_images.h"

namespace diml::cli {

// How photos enter a network, where that is not for the weights to say.
struct PreprocessingOptions {
  std::map<std::string, std::string> values;

  void define(CLI::App& command);
};

// A trained network and how it is run, for every command that embeds images.
struct NetworkOptions {
  std::string model;
  std::string backend = "auto";
  std::string precision = "float32";
  std::string pooling = "align";
  bool no_projection = false;
  std::size_t grid = 4;
  std::string device = "cpu";
  std::size_t batch = 0;  // 0 for what suits the device; after open() what it is
  PreprocessingOptions preprocessing;

  void define(CLI::App& command);
  void define_running(CLI::App& command);  // the part of it that says how, not what
  Embedder open(int threads);

  // After open(): everything that the numbers depend on besides the images, in one line.
  const std::string& description() const { return description_; }

 private:
  std::string description_;
};

// Images by data set or by folder or list.
struct ImageOptions {
  std::string dataset;
  std::string root;
  std::string split = "test";
  std::string images;
  bool skip_bad = false;

  void define_dataset(CLI::App& command);
  void define_images(CLI::App& command);
  LabelledImages load() const;
  BadImages bad() const { return skip_bad ? BadImages::skip : BadImages::stop; }
};

// Of everything that the grids of these images depend on. description: NetworkOptions'.
std::string fingerprint_of(const LabelledImages& images, const std::string& description);

// What --skip-bad left out, on standard error: how many, and which.
void report_bad(const std::vector<std::string>& reasons, std::size_t total,
                const std::string& complete_list);

}  // namespace diml::cli
