#include <string_view>

#include "renderings.h"

namespace diml::experiments {
namespace {

// RFC 4180.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"') quoted += '"';
    quoted += letter;
  }
  return quoted + '"';
}

}  // namespace

std::string csv_of(const ResultTable& table) {
  constexpr std::string_view kEnd = "\r\n";
  std::string csv = "dataset,experiment,row,column,number,ours,paper,difference,seeds,deviation";
  csv += kEnd;
  for (const Line& line : table.lines) {
    for (const Number& number : numbers_of(table.experiment.quantity)) {
      const std::optional<double> ours = line.ours_of(number.name);
      if (!ours) continue;
      for (const std::string& field :
           {table.dataset, table.experiment.name, line.row, line.column, number.name}) {
        csv += quoted(field) + ",";
      }
      csv += decimal(hundredths(*ours)) + ",";
      const std::optional<double> paper = line.paper_of(number.name);
      if (paper) csv += decimal(hundredths(*paper));
      csv += ",";
      if (paper) csv += decimal(hundredths(*ours) - hundredths(*paper));
      csv += "," + std::to_string(line.cells.size()) + ",";
      const std::optional<double> deviation = line.deviation_of(number.name);
      if (deviation) csv += decimal(hundredths(*deviation));
      csv += kEnd;
    }
  }
  return csv;
}

}  // namespace diml::experiments
