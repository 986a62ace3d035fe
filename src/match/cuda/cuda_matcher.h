#pragma once

#include <memory>

#include "diml/matcher.h"

namespace diml::cuda {

std::unique_ptr<Matcher> make_cuda_matcher(MatcherParams params);

}  // namespace diml::cuda
