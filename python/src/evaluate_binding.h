#pragma once

#include <vector>

#include "calls.h"
#include "diml/metrics.h"

namespace diml::python {

// A row of an evaluation's table, in percent.
py::dict dict_of(const RetrievalMetrics& metrics, const std::vector<std::size_t>& recall_ks);

}  // namespace diml::python
