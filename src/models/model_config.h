#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/architecture.h"

namespace diml {

// What the configuration files of timm, Hugging Face and OpenCLIP say about weights beside them:
// the arrays say nothing of it.
struct ModelConfig {
  std::string files{};                                 // that were read, "config.json, ..."
  std::optional<std::string> architecture{};           // a name of timm's, without its tag
  std::map<std::string, std::string> preprocessing{};  // as from_text() takes it
  std::optional<std::size_t> heads{};                  // of a transformer
  std::optional<std::string> activation{};             // as the file names it
  std::optional<double> epsilon{};                     // of LayerNorm
  std::vector<std::string> notes{};                    // where the program does otherwise

  // Adds what one file says. Throws where it contradicts itself.
  void read(std::span<const std::uint8_t> json);
};

// From what lies beside the weights under the usual names.
ModelConfig config_beside(const std::string& weights);

// Throws on one that no network here has.
Activation activation_called(const std::string& name);

}  // namespace diml
