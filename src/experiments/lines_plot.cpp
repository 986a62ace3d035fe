#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "column_axis.h"
#include "plot.h"

namespace diml::experiments {
namespace {

constexpr double kLinesWidth = 720.0;
constexpr double kHeight = 300.0;  // of the frame; more where the labels need it
constexpr double kLeft = 74.0;
constexpr double kLabelGap = 15.0;
constexpr std::string_view kDashes = "5 4";

// Colours and markers of the rows; markers tell rows apart in print without colour.
constexpr std::array<std::string_view, 6> kColours{kOurs,     "#1a5cc2", "#00796b",
                                                   "#a85b00", "#6a3d9a", "#37474f"};
constexpr std::array<Marker, 4> kMarkers{Marker::circle, Marker::square, Marker::diamond,
                                         Marker::triangle};

// One line of the plot.
struct Series {
  std::string name;
  std::vector<std::optional<double>> values{};  // at each tick
  Stroke stroke{};
  std::string_view label_colour{};
  Marker marker = Marker::circle;
  Inside inside = Inside::hollow;
};

struct Label {
  double y;
  std::string text;
  std::string_view colour;
};

// Moves labels apart so that none covers another, and keeps them inside the frame.
void spread(std::vector<Label>& labels, double lowest) {
  std::stable_sort(labels.begin(), labels.end(),
                   [](const Label& a, const Label& b) { return a.y < b.y; });
  for (std::size_t k = 1; k < labels.size(); ++k) {
    labels[k].y = std::max(labels[k].y, labels[k - 1].y + kLabelGap);
  }
  for (std::size_t k = labels.size(); k-- > 0;) {
    labels[k].y = std::min(labels[k].y, lowest);
    lowest = labels[k].y - kLabelGap;
  }
}

std::string variant_name(const std::string& row, const std::string& variant) {
  return variant.empty() ? row : row + ", " + variant;
}

// The paper's first and ours last: later lines are drawn on top.
std::vector<Series> series_of(const ResultTable& table, const ColumnAxis& axis) {
  const std::string& metric = table.metrics().front().name;
  std::vector<Series> papers;
  std::vector<Series> variants;
  std::vector<Series> ours;
  for (std::size_t r = 0; r < table.experiment.rows.size(); ++r) {
    const std::string& row = table.experiment.rows[r].name;
    const std::string_view colour = kColours.at(r % kColours.size());
    const Marker marker = kMarkers.at(r % kMarkers.size());
    const std::vector<std::optional<double>> none(axis.ticks.size());
    Series paper{row + ", paper", none, {kPaperGrey, 1.6, kDashes}, kGrey, marker};
    std::vector<Series> of_row;
    for (const std::string& variant : axis.variants) {
      of_row.push_back({variant_name(row, variant), none, {colour, 1.4}, colour, marker});
    }
    of_row.front().stroke.width = 2.0;
    of_row.front().inside = Inside::filled;
    for (std::size_t c = 0; c < axis.positions.size(); ++c) {
      const ColumnAxis::Position& position = axis.positions[c];
      const Line& line = table.line(r, c);
      of_row[position.variant].values[position.tick] = line.ours_of(metric);
      // The paper has one line, without variants.
      std::optional<double>& printed = paper.values[position.tick];
      if (!printed) printed = line.paper_of(metric);
    }
    papers.push_back(std::move(paper));
    ours.push_back(std::move(of_row.front()));
    std::move(of_row.begin() + 1, of_row.end(), std::back_inserter(variants));
  }
  std::move(variants.begin(), variants.end(), std::back_inserter(papers));
  std::move(ours.begin(), ours.end(), std::back_inserter(papers));
  return papers;
}

class LinesPlot {
 public:
  explicit LinesPlot(const ResultTable& table)
      : table_(table),
        axis_(axis_of(table)),
        columns_(column_axis_of(table.experiment.columns)),
        series_(series_of(table, columns_)),
        svg_(table.full_title()) {}

  std::string draw() {
    top_ = draw_title(svg_, table_, kLinesWidth) + 72.0;
    double names = 0.0;
    for (const Series& series : series_) names = std::max(names, width_of(series.name, 12.0));
    right_ = kLinesWidth - 24.0 - std::min(names + 14.0, kLinesWidth / 3.0);
    height_ = std::max(kHeight, kLabelGap * static_cast<double>(series_.size()));
    draw_legend();
    draw_axes();
    std::vector<Label> labels;
    for (const Series& series : series_) draw_series(series, labels);
    spread(labels, top_ + height_);
    for (const Label& label : labels) {
      svg_.text({right_ + 14.0, label.y + 4.0}, label.text, {12.0, label.colour});
    }
    return svg_.file(kLinesWidth, top_ + height_ + (columns_.label.empty() ? 36.0 : 56.0));
  }

 private:
  double x(std::size_t tick) const {
    const double width = (right_ - kLeft) / static_cast<double>(columns_.ticks.size());
    return kLeft + width * (static_cast<double>(tick) + 0.5);
  }
  double y(double value) const { return top_ + height_ * (1.0 - axis_.share(value)); }

  void draw_legend() {
    const double y = top_ - 47.0;
    svg_.line({28.0, y}, {54.0, y}, {kInk, 2.0});
    svg_.text({61.0, y + 4.0}, "ours", {12.0, kInk});
    if (!shows_paper(table_)) return;
    svg_.line({112.0, y}, {138.0, y}, {kPaperGrey, 1.6, kDashes});
    svg_.text({145.0, y + 4.0}, "paper", {12.0, kInk});
  }

  void draw_axes() {
    for (long long k = axis_.first; k <= axis_.last; ++k) {
      const double at = y(static_cast<double>(k) * axis_.step);
      svg_.line({kLeft, at}, {right_, at}, {kGridGrey, 1.0});
      svg_.text({kLeft - 9.0, at + 4.0}, axis_.tick(k), {kSmallText, kGrey, Anchor::end});
    }
    const double bottom = top_ + height_;
    svg_.line({kLeft, bottom}, {right_, bottom}, {kGrey, 1.0});
    svg_.text({28.0, top_ - 14.0}, table_.metrics().front().heading + ", %", {12.0, kInk});
    for (std::size_t p = 0; p < columns_.ticks.size(); ++p) {
      svg_.line({x(p), bottom}, {x(p), bottom + 4.0}, {kGrey, 1.0});
      svg_.text({x(p), bottom + 19.0}, columns_.ticks[p], {kSmallText, kGrey, Anchor::middle});
    }
    if (!columns_.label.empty()) {
      svg_.text({(kLeft + right_) / 2.0, bottom + 40.0}, columns_.label,
                {12.0, kInk, Anchor::middle});
    }
  }

  // A missing value interrupts the line.
  void draw_series(const Series& series, std::vector<Label>& labels) {
    std::vector<Point> all;
    std::vector<Point> unbroken;
    for (std::size_t p = 0; p < series.values.size(); ++p) {
      if (series.values[p]) {
        unbroken.push_back({x(p), y(*series.values[p])});
        all.push_back(unbroken.back());
      } else {
        svg_.polyline(unbroken, series.stroke);
        unbroken.clear();
      }
    }
    svg_.polyline(unbroken, series.stroke);
    for (const Point& point : all) {
      svg_.marker(point, series.marker, series.inside, series.stroke.colour);
    }
    if (!all.empty()) labels.push_back({all.back().y, series.name, series.label_colour});
  }

  const ResultTable& table_;
  Axis axis_;
  ColumnAxis columns_;
  std::vector<Series> series_;
  Svg svg_;
  double top_ = 0.0;
  double right_ = 0.0;
  double height_ = 0.0;
};

}  // namespace

std::string lines_plot(const ResultTable& table) { return LinesPlot(table).draw(); }

}  // namespace diml::experiments
