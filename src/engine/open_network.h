#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "diml/embedding.h"
#include "diml/network.h"
#include "models/model.h"

namespace diml {

struct OpenedNetwork {
  std::unique_ptr<Network> network;
  Preprocessing preprocessing;
  std::string fingerprint;  // SHA-256 of the file
  std::string path;         // of the file, absolute
  std::optional<Calibration> calibration{};
};

// Those of this build, the fastest first.
std::vector<NetworkBackend> network_backends();

// A model in memory, on params.backend.
std::unique_ptr<Network> make_network(const Model& model, const EmbeddingParams& params);

// params.model is a model of ours (.safetensors), by its path or by the name under which
// `diml weights get` keeps it; or a TorchScript program. A program's preprocessing is in a file of
// the same name that ends in .json, or in the overrides; without both it is torchvision's.
OpenedNetwork open_network(const EmbeddingParams& params);

// The path of a model file, or of the fetched weights of that name. Throws where there is neither.
std::string located_model(const std::string& path);

// Where fetched weights are kept: DIML_CACHE, else XDG_CACHE_HOME/diml, else ~/.cache/diml.
std::string cache_folder();

}  // namespace diml
