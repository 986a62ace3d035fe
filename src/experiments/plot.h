#pragma once

#include <string>
#include <vector>

#include "svg.h"
#include "tables.h"

namespace diml::experiments {

bool has_plot(const ResultTable& table);

// The table's first metric as an SVG file.
std::string plot_of(const ResultTable& table);

// The two kinds of plot.
std::string pairs_plot(const ResultTable& table);
std::string lines_plot(const ResultTable& table);

// Shared by both.
constexpr std::string_view kInk = "#222226";
constexpr std::string_view kGrey = "#6b6b73";
constexpr std::string_view kPaperGrey = "#98989f";
constexpr std::string_view kGridGrey = "#e4e4e8";
constexpr std::string_view kOurs = "#cc1429";
constexpr double kSmallText = 11.5;

// Round numbers around the values.
struct Axis {
  double step = 1.0;
  long long first = 0;  // in steps
  long long last = 1;

  double share(double value) const;  // 0 at the first step, 1 at the last
  std::string tick(long long k) const;
};

// Covers all values of the plot, ours and the paper's.
Axis axis_of(const ResultTable& table);

// Whether the plot shows a value of the paper.
bool shows_paper(const ResultTable& table);

// Returns the y coordinate of its end.
double draw_title(Svg& svg, const ResultTable& table, double width);

}  // namespace diml::experiments
