#include "gains.h"

#include <cmath>
#include <utility>

namespace diml::experiments {

std::vector<Gain> gains_of(const ResultTable& table) {
  std::vector<Gain> gains;
  const std::size_t last = table.experiment.columns.size() - 1;
  for (const Metric& metric : table.metrics()) {
    if (!metric.headline) continue;
    Gain gain{metric};
    for (std::size_t r = 0; r < table.experiment.rows.size(); ++r) {
      const Line& from = table.line(r, 0);
      const Line& to = table.line(r, last);
      const std::optional<double> before = from.ours_of(metric.name);
      const std::optional<double> after = to.ours_of(metric.name);
      if (!before || !after) continue;
      ++gain.rows;
      gain.ours += *after - *before;
      if (hundredths(*after) > hundredths(*before)) ++gain.rows_gained;
      const std::optional<double> paper_before = from.paper_of(metric.name);
      const std::optional<double> paper_after = to.paper_of(metric.name);
      if (!paper_before || !paper_after) continue;
      ++gain.paper_rows;
      gain.paper += *paper_after - *paper_before;
    }
    if (gain.rows == 0) continue;
    gain.ours /= static_cast<double>(gain.rows);
    if (gain.paper_rows > 0) gain.paper /= static_cast<double>(gain.paper_rows);
    gains.push_back(std::move(gain));
  }
  return gains;
}

std::optional<Farthest> farthest_from_paper(const ResultTable& table) {
  const std::string& metric = table.metrics().front().name;
  std::optional<Farthest> farthest;
  for (std::size_t r = 0; r < table.experiment.rows.size(); ++r) {
    const Line& line = table.line(r, 0);
    const std::optional<double> ours = line.ours_of(metric);
    const std::optional<double> paper = line.paper_of(metric);
    if (!ours || !paper) continue;
    const double difference = *ours - *paper;
    if (!farthest || std::abs(difference) > std::abs(farthest->difference)) {
      farthest = {line.row, difference};
    }
  }
  return farthest;
}

}  // namespace diml::experiments
