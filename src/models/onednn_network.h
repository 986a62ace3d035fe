#pragma once

#include <memory>

#include "diml/network.h"
#include "models/model.h"
#include "models/tap.h"

namespace diml {

// On oneDNN: BatchNorm folded, ReLU and the sum of the shortcut fused into the convolutions. With
// the ONEDNN feature.
std::unique_ptr<Network> make_onednn_network(const Model& model, const EmbeddingParams& params,
                                             const Tap& tap = {});

}  // namespace diml
