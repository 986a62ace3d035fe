#include <string_view>

#include "base/csv_field.h"
#include "renderings.h"

namespace diml::experiments {

std::string csv_of(const ResultTable& table) {
  constexpr std::string_view kEnd = "\r\n";
  std::string csv = "dataset,experiment,row,column,number,ours,paper,difference,seeds,deviation";
  csv += kEnd;
  for (const Line& line : table.lines) {
    for (const Metric& metric : table.metrics()) {
      const std::optional<double> ours = line.ours_of(metric.name);
      if (!ours) continue;
      for (const std::string& field :
           {table.dataset, table.experiment.name, line.row, line.column, metric.name}) {
        csv += csv_field(field) + ",";
      }
      csv += decimal(hundredths(*ours)) + ",";
      const std::optional<double> paper = line.paper_of(metric.name);
      if (paper) csv += decimal(hundredths(*paper));
      csv += ",";
      if (paper) csv += decimal(hundredths(*ours) - hundredths(*paper));
      csv += "," + std::to_string(line.results.size()) + ",";
      const std::optional<double> deviation = line.deviation_of(metric.name);
      if (deviation) csv += decimal(hundredths(*deviation));
      csv += kEnd;
    }
  }
  return csv;
}

}  // namespace diml::experiments
