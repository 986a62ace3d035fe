#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "diml/explain.h"
#include "diml/image.h"

namespace diml {

enum class PictureFormat : std::uint8_t { png, svg, pdf };

struct FigureParams {
  std::size_t strongest = 5;  // red arrows: the largest contributions
  std::size_t weakest = 2;    // blue arrows: Explanation::weakest
  std::string source_name = "source";
  std::string target_name = "target";
};

constexpr std::size_t kMostArrows = 24;  // of both colours; more cannot be told apart

// Both images, the heat maps of their marginals, and arrows between cells, each with its formula
// [That_ij] x [S_ij]. The images are what the network saw: their cells are the grid's. Returns the
// file's bytes. With the DRAWING feature.
std::string draw_figure(const Explanation& explanation, const Image& source, const Image& target,
                        PictureFormat format, const FigureParams& params = {});

}  // namespace diml
