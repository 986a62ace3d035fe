#pragma once

#include "diml/marginals.h"

#ifdef __CUDACC__
#define DIML_ON_HOST_AND_DEVICE __host__ __device__
#else
#define DIML_ON_HOST_AND_DEVICE
#endif

namespace diml {

// What a rule of marginals is: one definition for the reference, the CPU and the GPU.

// Whether a cell's weight depends on its correlation with the other image's global.
DIML_ON_HOST_AND_DEVICE inline bool uses_correlation(MarginalRule rule) {
  return rule == MarginalRule::cross_correlation;
}

// The weight of a cell before normalisation. known: its correlation, or what weights_by_place()
// gives it; not read where the rule uses neither.
template <class Number>
DIML_ON_HOST_AND_DEVICE inline Number marginal_weight(MarginalRule rule, Number known) {
  switch (rule) {
    case MarginalRule::uniform:
      return Number(1);
    case MarginalRule::cross_correlation:
    case MarginalRule::centre:
      break;
  }
  return known > Number(0) ? known : Number(0);
}

}  // namespace diml

#undef DIML_ON_HOST_AND_DEVICE
