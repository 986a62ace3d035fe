#include <string_view>

#include "gains.h"
#include "plot.h"
#include "renderings.h"
#include "table_notes.h"

namespace diml::experiments {
namespace {

constexpr std::string_view kHead =
    R"(<!-- Written by `diml experiments report`: change the results or the tables, not this page. -->

# Results

Retrieval results of trained networks, compared with "Towards Interpretable Deep Metric Learning with Structural Matching" (Zhao et
al., ICCV 2021). `diml experiments report` writes this page from the result files; do not edit it by hand.

Each entry is **ours (the paper's, the difference)** in percent; a negative difference means that ours is lower. Where the paper
has no value, the entry is ours alone; a dash marks a missing result. With several seeds an entry is the mean ± the standard
deviation. RP\* and MAP@R\* count the query in R, as the paper does; RP and MAP@R leave it out, which is the standard definition.
)";

std::string markdown_text(const std::string& text) {
  static constexpr std::string_view kMarkup = "\\|*_`<>[]&~$#";
  std::string markdown;
  for (const char letter : text) {
    if (kMarkup.find(letter) != std::string_view::npos) markdown += '\\';
    markdown += letter == '\n' || letter == '\r' ? ' ' : letter;
  }
  return markdown;
}

std::string trimmed(const std::string& text) {
  static constexpr const char* kSpace = " \t\r\n";
  const std::size_t from = text.find_first_not_of(kSpace);
  if (from == std::string::npos) return "";
  return text.substr(from, text.find_last_not_of(kSpace) + 1 - from);
}

std::string table_text(const ResultTable& table) {
  std::string markdown = "| network | protocol |";
  std::string rule = "|---|---|";
  for (const Metric& metric : table.metrics()) {
    markdown += " " + markdown_text(metric.heading) + " |";
    rule += "---:|";
  }
  markdown += "\n" + rule + "\n";
  for (const Line& line : table.lines) {
    markdown += table.starts_row(line) ? "| " + markdown_text(line.row) + " |" : "| |";
    markdown += " " + markdown_text(table.column_text(line)) + " |";
    for (const Metric& metric : table.metrics()) {
      markdown += " " + entry(line, metric, kTextSigns) + " |";
    }
    markdown += "\n";
  }
  return markdown;
}

std::string signed_text(double value) {
  return signed_decimal(hundredths(value), kTextSigns.minus);
}

std::string gains_text(const ResultTable& table) {
  const std::vector<Gain> gains = gains_of(table);
  if (gains.empty()) return "";
  const std::vector<Column>& columns = table.experiment.columns;
  std::string markdown =
      "\n| gain of " + markdown_text(columns.back().name) + " over " +
      markdown_text(columns.front().name) +
      " | ours, mean | the paper's, mean | rows that gain |\n|---|---:|---:|---:|\n";
  for (const Gain& gain : gains) {
    markdown += "| " + markdown_text(gain.metric.heading) + " | " + signed_text(gain.ours) + " | ";
    markdown += gain.paper_rows == 0 ? std::string(kTextSigns.missing) : signed_text(gain.paper);
    if (gain.paper_rows > 0 && gain.paper_rows < gain.rows) {
      markdown += " (";
      markdown += std::to_string(gain.paper_rows) + (gain.paper_rows == 1 ? " row)" : " rows)");
    }
    markdown += " | ";
    markdown += std::to_string(gain.rows_gained) + " of " + std::to_string(gain.rows) + " |\n";
  }
  if (const std::optional<Farthest> farthest = farthest_from_paper(table)) {
    markdown += "\nFarthest from the paper in " + markdown_text(table.metrics().front().heading) +
                " of " + markdown_text(columns.front().name) + ": " + markdown_text(farthest->row) +
                ", " + signed_text(farthest->difference) + ".\n";
  }
  return markdown;
}

std::string section(const ResultTable& table) {
  std::string markdown = "\n### " + markdown_text(table.title()) + "\n";
  const auto paragraph = [&](const std::string& text) {
    if (!text.empty()) markdown += "\n" + text + "\n";
  };
  paragraph(trimmed(table.experiment.about));
  paragraph(markdown_text(held_out_note(table)));
  markdown += "\n" + table_text(table);
  if (table.experiment.plot == PlotKind::pairs) markdown += gains_text(table);
  const auto path = [&](const std::string& ending) { return "results/" + table.file_name(ending); };
  if (has_plot(table)) {
    paragraph("![" + markdown_text(table.full_title()) + "](" + path(".svg") + ")");
  }
  std::string note =
      std::to_string(table.completed()) + " of " + std::to_string(table.lines.size()) + " results";
  if (const std::string provenance = provenance_note(table); !provenance.empty()) {
    note += "; " + markdown_text(provenance);
  }
  note += ". Files: [CSV](" + path(".csv") + "), [LaTeX](" + path(".tex") + ")";
  if (has_plot(table)) note += ", [SVG](" + path(".svg") + ")";
  paragraph(note + ".");
  return markdown;
}

}  // namespace

std::string markdown_of(const std::vector<ResultTable>& tables, const std::string& about) {
  std::string markdown(kHead);
  if (const std::string text = trimmed(about); !text.empty()) markdown += "\n" + text + "\n";
  std::string dataset;
  for (const ResultTable& table : tables) {
    if (table.dataset != dataset) {
      dataset = table.dataset;
      markdown += "\n## " + markdown_text(dataset_title(dataset)) + "\n";
    }
    markdown += section(table);
  }
  return markdown;
}

}  // namespace diml::experiments
