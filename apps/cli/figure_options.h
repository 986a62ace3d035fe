#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "diml/figure.h"

namespace diml::cli {

// How a figure looks: the flags of `diml explain` that its page and its numbers do not have.
struct FigureOptions {
  std::string width = "7in";
  double font_size = FigureParams{}.font_size;
  double dpi = 0.0;  // 0: not given
  std::string panels = "photos,weights,pairs";
  std::string style{};  // without it regions, or arrows where their number was given
  std::string source_name;
  std::string target_name;
  bool no_title = false;
  bool no_caption = false;

  void define(CLI::App& command);
  // The first of these flags that was given; empty where none was.
  std::string given() const;
  // Changes `params` as the flags say. Names that were not given stay.
  // number_given: of the arrows.
  void apply(FigureParams& params, bool number_given) const;

 private:
  std::vector<const CLI::Option*> flags_;
};

// "7in", "18cm", "180mm", "504pt" or "500px" in points; a pixel is one of dots_per_inch.
double points_of(const std::string& length, double dots_per_inch);

}  // namespace diml::cli
