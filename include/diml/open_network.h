#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "diml/network.h"

namespace diml {

struct OpenNetworkParams {
  NetworkParams network;
  std::string backend = "auto";  // one of network_backends(), or auto for the fastest there is
  std::map<std::string, std::string> preprocessing;  // overrides, as in from_text
};

struct OpenedNetwork {
  std::unique_ptr<Network> network;
  Preprocessing preprocessing;
  std::string fingerprint;  // SHA-256 of the file
};

std::vector<std::string> network_backends();

// A model in memory, on one of them.
std::unique_ptr<Network> make_network(const Model& model, const NetworkParams& params,
                                      const std::string& backend = "auto");

// A model of ours (.safetensors), by its path or by the name under which `diml weights get` keeps
// it; or anybody's TorchScript program, whose preprocessing stands beside it in a file of the same
// name with .json at the end, or in the overrides, and is torchvision's without both.
OpenedNetwork open_network(const std::string& path, const OpenNetworkParams& params);
OpenedNetwork open_network(const std::string& path);

// The path of a model file, or of the fetched weights of that name. Throws where there is neither.
std::string located_model(const std::string& path);

// Where fetched weights are kept: DIML_CACHE, else XDG_CACHE_HOME/diml, else ~/.cache/diml.
std::string cache_folder();

}  // namespace diml
