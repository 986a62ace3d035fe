#include <algorithm>
#include <optional>

#include "plot.h"

namespace diml::experiments {
namespace {

constexpr double kPairsWidth = 760.0;
constexpr double kRowHeight = 30.0;
constexpr double kLane = 5.5;     // ours is above the row's middle, the paper's below
constexpr double kGains = 132.0;  // room for both gains
constexpr double kNameSize = 13.0;

// The first and last column of one row, ours or the paper's.
struct Ends {
  std::optional<double> from;
  std::optional<double> to;
};

struct Frame {
  Axis axis;
  double left = 0.0;
  double right = 0.0;
  double top = 0.0;

  double x(double value) const { return left + axis.share(value) * (right - left); }
};

void draw_ends(Svg& svg, const Frame& frame, const Ends& ends, double y, std::string_view colour) {
  if (ends.from && ends.to) {
    svg.line({frame.x(*ends.from), y}, {frame.x(*ends.to), y}, {colour, 2.0});
  }
  if (ends.from) svg.marker({frame.x(*ends.from), y}, Marker::circle, Inside::hollow, colour);
  if (ends.to) svg.marker({frame.x(*ends.to), y}, Marker::circle, Inside::filled, colour);
}

void draw_gain(Svg& svg, const Ends& ends, Point at, std::string_view colour) {
  if (!ends.from || !ends.to) return;
  const long long gain = hundredths(*ends.to) - hundredths(*ends.from);
  svg.text(at, signed_decimal(gain, kTextSigns.minus), {kSmallText, colour, Anchor::end});
}

void draw_legend(Svg& svg, const ResultTable& table, double y) {
  const TextStyle style{12.0, kInk};
  double x = 28.0;
  const auto name = [&](const std::string& text) {
    svg.text({x, y + 4.0}, text, style);
    x += width_of(text, style.size) + 24.0;
  };
  const auto column = [&](const Column& each, Inside inside) {
    svg.marker({x, y}, Marker::circle, inside, kInk);
    x += 11.0;
    name(each.name);
  };
  const auto whose = [&](const std::string& text, std::string_view colour) {
    svg.line({x, y}, {x + 20.0, y}, {colour, 2.0});
    x += 27.0;
    name(text);
  };
  column(table.experiment.columns.front(), Inside::hollow);
  column(table.experiment.columns.back(), Inside::filled);
  whose("ours", kOurs);
  if (shows_paper(table)) whose("paper", kPaperGrey);
}

void draw_axis(Svg& svg, const Frame& frame, const std::string& label, double bottom) {
  for (long long k = frame.axis.first; k <= frame.axis.last; ++k) {
    const double x = frame.x(static_cast<double>(k) * frame.axis.step);
    svg.line({x, frame.top}, {x, bottom}, {kGridGrey, 1.0});
    svg.text({x, bottom + 17.0}, frame.axis.tick(k), {kSmallText, kGrey, Anchor::middle});
  }
  svg.line({frame.left, bottom}, {frame.right, bottom}, {kGrey, 1.0});
  svg.text({(frame.left + frame.right) / 2.0, bottom + 37.0}, label, {12.0, kInk, Anchor::middle});
}

}  // namespace

std::string pairs_plot(const ResultTable& table) {
  const Metric& metric = table.metrics().front();
  const std::size_t rows = table.experiment.rows.size();
  const std::size_t last = table.experiment.columns.size() - 1;
  Svg svg(table.full_title());
  const double title = draw_title(svg, table, kPairsWidth);
  draw_legend(svg, table, title + 25.0);

  double names = 0.0;
  for (const Row& row : table.experiment.rows) {
    names = std::max(names, width_of(row.name, kNameSize));
  }
  const Frame frame{axis_of(table), std::min(24.0 + names + 14.0, kPairsWidth / 2.0),
                    kPairsWidth - 24.0 - kGains, title + 62.0};
  const double bottom = frame.top + kRowHeight * static_cast<double>(rows) + 4.0;
  draw_axis(svg, frame, metric.heading + ", %", bottom);
  const double ours_x = kPairsWidth - 84.0;
  const double paper_x = kPairsWidth - 24.0;
  svg.text({ours_x, frame.top - 8.0}, "gain, ours", {kSmallText, kGrey, Anchor::end});
  if (shows_paper(table)) {
    svg.text({paper_x, frame.top - 8.0}, "paper", {kSmallText, kGrey, Anchor::end});
  }

  for (std::size_t r = 0; r < rows; ++r) {
    const Line& from = table.line(r, 0);
    const Line& to = table.line(r, last);
    const Ends ours{from.ours_of(metric.name), to.ours_of(metric.name)};
    const Ends paper{from.paper_of(metric.name), to.paper_of(metric.name)};
    const double y = frame.top + kRowHeight * (static_cast<double>(r) + 0.5) + 2.0;
    svg.text({frame.left - 14.0, y + 4.5}, from.row, {kNameSize, kInk, Anchor::end});
    draw_ends(svg, frame, paper, y + kLane, kPaperGrey);
    draw_ends(svg, frame, ours, y - kLane, kOurs);
    draw_gain(svg, ours, {ours_x, y + 4.0}, kOurs);
    draw_gain(svg, paper, {paper_x, y + 4.0}, kGrey);
  }
  return svg.file(kPairsWidth, bottom + 54.0);
}

}  // namespace diml::experiments
