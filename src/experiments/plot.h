#pragma once

#include <string>
#include <vector>

#include "svg.h"
#include "tables.h"

namespace diml::experiments {

bool has_plot(const ResultTable& table);

// The table's first number as an SVG file.
std::string plot_of(const ResultTable& table);

// The two kinds of plot.
std::string pairs_plot(const ResultTable& table);
std::string lines_plot(const ResultTable& table);

// What both share.
constexpr std::string_view kInk = "#222226";
constexpr std::string_view kGrey = "#6b6b73";
constexpr std::string_view kPaperGrey = "#98989f";
constexpr std::string_view kGridGrey = "#e4e4e8";
constexpr std::string_view kOurs = "#cc1429";

// Round numbers around the values.
struct Axis {
  double step = 1.0;
  long long first = 0;  // in steps
  long long last = 1;

  double share(double value) const;  // of the way from the first to the last
  std::string tick(long long k) const;
};

// Of every number that the table's plot shows, ours and the paper's.
Axis axis_of(const ResultTable& table);

// Whether the paper has a number that the table's plot shows.
bool shows_paper(const ResultTable& table);

// Returns how far down it went.
double draw_title(Svg& svg, const ResultTable& table, double width);

}  // namespace diml::experiments
