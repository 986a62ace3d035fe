#pragma once

#include "diml/transport.h"

namespace diml::reference {

TransportPlan sinkhorn(MatrixView cost, const Marginals& marginals, const TransportParams& params);

}  // namespace diml::reference
