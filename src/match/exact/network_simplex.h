#pragma once

#include "diml/transport.h"

namespace diml::exact {

TransportPlan network_simplex(MatrixView cost, const Marginals& marginals);

}  // namespace diml::exact
