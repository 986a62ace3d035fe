#include "figure_options.h"

#include <array>
#include <charconv>
#include <cmath>

#include "diml/error.h"

namespace diml::cli {
namespace {

constexpr double kPointsOfInch = 72.0;
constexpr double kScreen = 96.0;  // pixels of an inch, as browsers have it

bool is_in_pixels(const std::string& length) { return length.ends_with("px"); }

}  // namespace

double points_of(const std::string& length, double dots_per_inch) {
  struct Unit {
    std::string_view name;
    double points;
  };
  const std::array<Unit, 5> units = {{{"in", kPointsOfInch},
                                      {"cm", kPointsOfInch / 2.54},
                                      {"mm", kPointsOfInch / 25.4},
                                      {"pt", 1.0},
                                      {"px", kPointsOfInch / dots_per_inch}}};
  double value = 0.0;
  const char* end = length.data() + length.size();
  const auto [stop, error] = std::from_chars(length.data(), end, value);
  const std::string_view name(stop, static_cast<std::size_t>(end - stop));
  if (error == std::errc() && std::isfinite(value) && value > 0.0) {
    for (const Unit& unit : units) {
      if (name == unit.name) return value * unit.points;
    }
  }
  throw Error("--width " + length +
              ": give a number and its unit, as 7in, 18cm, 180mm, 504pt or 1000px");
}

void FigureOptions::define(CLI::App& command) {
  const auto add = [&](CLI::Option* option) {
    option->group("Figure (.svg, .png, .pdf)");
    flags_.push_back(option);
    return option;
  };
  add(command.add_option("--width", width,
                         "Width of the figure, with its unit: 7in, 18cm, 180mm, 504pt, 1000px"));
  add(command.add_option("--font-size", font_size,
                         "Size of the figure's text in points; no text is smaller"));
  add(command.add_option("--dpi", dpi,
                         "Pixels of a PNG per inch; default: 300, or 96 where --width is in px"))
      ->default_str("");
  add(command.add_option("--style", style,
                         "regions, arrows between the strongest pairs of cells, or numbered: the "
                         "same number in both photos; default: regions, or arrows with --arrows or "
                         "--weak"))
      ->default_str("");
  add(command.add_option("--panels", panels, "What the figure shows, separated by commas"));
  add(command.add_option("--source-name", source_name,
                         "Title above the source photo, in place of its file's name; '' for none"));
  add(command.add_option("--target-name", target_name, "Title above the target photo"));
  add(command.add_flag("--no-title", no_title, "Leave out the line with both similarities"));
  add(command.add_flag("--no-caption", no_caption, "Leave out the text below the photos"));
}

std::string FigureOptions::given() const {
  for (const CLI::Option* flag : flags_) {
    if (flag->count() > 0) return flag->get_name();
  }
  return "";
}

void FigureOptions::apply(FigureParams& params, bool number_given) const {
  for (const CLI::Option* flag : flags_) {
    if (flag->count() == 0) continue;
    if (flag->get_name() == "--source-name") params.source_name = source_name;
    if (flag->get_name() == "--target-name") params.target_name = target_name;
    if (flag->get_name() == "--dpi" && !(dpi > 0.0)) {
      throw Error("--dpi must be above 0, as 300");
    }
  }
  params.dots_per_inch = dpi > 0.0             ? dpi
                         : is_in_pixels(width) ? kScreen
                                               : FigureParams{}.dots_per_inch;
  params.width = points_of(width, params.dots_per_inch);
  params.font_size = font_size;
  params.style = !style.empty() ? figure_style_named(style)
                 : number_given ? FigureStyle::arrows
                                : FigureStyle::regions;
  params.panels = figure_panels_named(panels);
  params.title = !no_title;
  params.caption = !no_caption;
}

}  // namespace diml::cli
