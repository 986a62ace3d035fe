#pragma once

#include <memory>

#include "diml/matcher.h"

namespace diml::cpu {

std::unique_ptr<Matcher> make_cpu_matcher(MatcherParams params);

}  // namespace diml::cpu
