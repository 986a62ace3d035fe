#pragma once

#include <cstddef>

#include "diml/embedding.h"
#include "diml/explain.h"
#include "diml/image.h"

namespace diml::cli {

// The image as the network sees it: its grid's cells cover exactly this.
Image seen_by(const Preprocessing& preprocessing, const Image& image);

// The strongest and the weakest pairs, for people.
void print_explanation(const Explanation& explanation, std::size_t strongest, std::size_t weakest);

}  // namespace diml::cli
