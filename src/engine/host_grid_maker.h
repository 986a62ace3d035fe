#pragma once

#include <memory>

#include "diml/network.h"

namespace diml {

// For any network, on the CPU. The network must outlive it.
std::unique_ptr<GridMaker> make_host_grid_maker(Network& network,
                                                const Preprocessing& preprocessing,
                                                const EmbeddingParams& params);

}  // namespace diml
