#pragma once

#include <memory>
#include <string>

#include "diml/network.h"
#include "models/model.h"
#include "models/tap.h"

namespace diml {

// On LibTorch, BatchNorm folded.
std::unique_ptr<Network> make_torch_network(const Model& model, const EmbeddingParams& params,
                                            const Tap& tap = {});

// A network as a TorchScript file, of any origin: a module that maps [B, 3, H, W] to [B, C, h, w].
// Throws where the module does something else.
std::unique_ptr<Network> load_torchscript_network(const std::string& path,
                                                  const EmbeddingParams& params);

}  // namespace diml
