#include "gallery_model.h"

namespace diml::cli {

void define_running(CLI::App& command, NetworkOptions& network) {
  command.add_option("--model", network.model,
                     "The gallery's model, where it lies elsewhere than it did");
  command
      .add_option("--precision", network.precision,
                  "float32 or bfloat16 (about twice as fast on some CPUs)")
      ->capture_default_str();
  command.add_option("--backend", network.backend, "What runs the network: auto, onednn or torch")
      ->capture_default_str();
  command.add_option("--device", network.device, "cpu, cuda or cuda:1")->capture_default_str();
}

EmbedderSettings settings_of(const NetworkOptions& network, int threads) {
  return {.model = network.model,
          .grid = network.grid,
          .pooling = pooling_rule_from(network.pooling),
          .projection = !network.no_projection,
          .preprocessing = network.preprocessing.values,
          .backend = network.backend,
          .precision = network.precision,
          .device = network.device,
          .batch = network.batch,
          .threads = threads};
}

}  // namespace diml::cli
