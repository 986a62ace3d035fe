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
  return rule != MarginalRule::uniform;
}

// The weight of a cell before normalisation. correlation: not read where the rule does not use it.
template <class Number>
DIML_ON_HOST_AND_DEVICE inline Number marginal_weight(MarginalRule rule, Number correlation) {
  switch (rule) {
    case MarginalRule::uniform:
      return Number(1);
    case MarginalRule::cross_correlation:
      break;
  }
  return correlation > Number(0) ? correlation : Number(0);
}

}  // namespace diml

#undef DIML_ON_HOST_AND_DEVICE
