#include "plot.h"

#include <algorithm>
#include <cmath>

namespace diml::experiments {
namespace {

constexpr double kMostSteps = 7.0;

bool is_pairs(const ResultTable& table) { return table.experiment.plot == PlotKind::pairs; }

struct Shown {
  std::vector<double> ours;
  std::vector<double> paper;
};

Shown shown_values(const ResultTable& table) {
  const std::string& metric = table.metrics().front().name;
  const std::size_t columns = table.experiment.columns.size();
  Shown shown;
  for (std::size_t r = 0; r < table.experiment.rows.size(); ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      if (is_pairs(table) && c > 0 && c + 1 < columns) continue;
      const Line& line = table.line(r, c);
      if (const std::optional<double> ours = line.ours_of(metric)) shown.ours.push_back(*ours);
      if (const std::optional<double> paper = line.paper_of(metric)) shown.paper.push_back(*paper);
    }
  }
  return shown;
}

}  // namespace

bool has_plot(const ResultTable& table) {
  return table.experiment.plot != PlotKind::none && !shown_values(table).ours.empty();
}

std::string plot_of(const ResultTable& table) {
  return is_pairs(table) ? pairs_plot(table) : lines_plot(table);
}

double Axis::share(double value) const {
  return (value / step - static_cast<double>(first)) / static_cast<double>(last - first);
}

std::string Axis::tick(long long k) const {
  const long long value = hundredths(static_cast<double>(k) * step);
  std::string text = decimal(value, kTextSigns.minus);
  // With the decimals of the step.
  const long long size = hundredths(step);
  if (size % 100 == 0) return text.substr(0, text.size() - 3);
  return size % 10 == 0 ? text.substr(0, text.size() - 1) : text;
}

Axis axis_of(const ResultTable& table) {
  const Shown shown = shown_values(table);
  std::vector<double> values = shown.ours;
  values.insert(values.end(), shown.paper.begin(), shown.paper.end());
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double span = std::max(*high - *low, 0.05);
  double step = 0.01;
  for (int k = 0; span / step > kMostSteps; ++k) step *= k % 3 == 1 ? 2.5 : 2.0;
  Axis axis{step, static_cast<long long>(std::floor(*low / step)),
            static_cast<long long>(std::ceil(*high / step))};
  if (axis.first == axis.last) ++axis.last;
  // Keeps points off the frame's edge.
  if (axis.share(*low) < 0.02) --axis.first;
  if (axis.share(*high) > 0.98) ++axis.last;
  return axis;
}

bool shows_paper(const ResultTable& table) { return !shown_values(table).paper.empty(); }

double draw_title(Svg& svg, const ResultTable& table, double width) {
  constexpr double kSize = 15.0;
  constexpr double kBold = 1.2;  // wider than plain
  double y = 12.0;
  for (const std::string& line : wrapped(table.full_title(), kBold * kSize, width - 48.0)) {
    y += 20.0;
    svg.text({24.0, y}, line, {kSize, kInk, Anchor::start, true});
  }
  return y;
}

}  // namespace diml::experiments
