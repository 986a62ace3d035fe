#pragma once

#include <string>
#include <vector>

#include "diml/figure.h"
#include "explain/part_truth.h"

namespace diml {

// What judge_parts() and deletion_curves() found, as one picture: bars, and two charts where there
// are curves. Returns the file's bytes. With the DRAWING feature.
std::string draw_part_truth(const std::vector<PartMethod>& methods,
                            const std::vector<Curve>& curves, const std::string& title,
                            PictureFormat format);

}  // namespace diml
