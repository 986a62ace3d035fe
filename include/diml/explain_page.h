#pragma once

#include <string>

#include "diml/explain.h"
#include "diml/figure.h"
#include "diml/image.h"

namespace diml {

// The explanation as one HTML file that moves: pointing at a part shows where it goes. Pictures,
// numbers and program are in it, nothing is fetched. With the JSON feature.
std::string explain_page(const Explanation& explanation, const Image& source, const Image& target,
                         const FigureParams& params = {});

}  // namespace diml
