#pragma once

#include <memory>

#include "diml/grid_maker.h"
#include "diml/network.h"

namespace diml {

// Of any network, on the CPU. The network must outlive it.
std::unique_ptr<GridMaker> make_host_grid_maker(Network& network, const GridMakerParams& params);

}  // namespace diml
