#include <string_view>

#include "gains.h"
#include "origin.h"
#include "plot.h"
#include "renderings.h"

namespace diml::experiments {
namespace {

constexpr std::string_view kHead =
    R"(<!-- Made by `diml experiments report`: change the cells or the tables, not this page. -->

# Results

Tables of trained networks, set beside what "Towards Interpretable Deep Metric Learning with Structural Matching" (Zhao et al., ICCV
2021) prints where it has them. `diml experiments report` makes this page from the files of single results; it must not be
edited by hand.

Each entry is **ours (the paper's, the difference)**, in percent; the difference is ours less the paper's, so a minus says
that we are below it. Where the paper prints nothing, ours stands alone; a dash is a result that has not been made. Of several
seeds the mean stands there, ± their standard deviation. RP\* and MAP@R\* count the query in R, as the paper does; RP and MAP@R leave
it out, which is the standard definition.
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
  const std::vector<Number>& numbers = numbers_of(table.experiment.quantity);
  std::string markdown = "| network | look |";
  std::string rule = "|---|---|";
  for (const Number& number : numbers) {
    markdown += " ";
    markdown += markdown_text(number.heading) + " |";
    rule += "---:|";
  }
  markdown += "\n" + rule + "\n";
  for (std::size_t k = 0; k < table.lines.size(); ++k) {
    const Line& line = table.lines[k];
    const bool first = k == 0 || table.lines[k - 1].row != line.row || table.is_choice(line);
    markdown += first ? "| " + markdown_text(line.row) + " |" : "| |";
    markdown += " ";
    markdown += markdown_text(table.column_text(line)) + " |";
    for (const Number& number : numbers) {
      markdown += " ";
      markdown += entry(line, number, kTextSigns) + " |";
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
    markdown += "| " + markdown_text(gain.number.heading) + " | " + signed_text(gain.ours) + " | ";
    markdown += gain.paper_rows == 0 ? std::string(kTextSigns.missing) : signed_text(gain.paper);
    if (gain.paper_rows > 0 && gain.paper_rows < gain.rows) {
      markdown += " (";
      markdown += std::to_string(gain.paper_rows) + (gain.paper_rows == 1 ? " row)" : " rows)");
    }
    markdown += " | ";
    markdown += std::to_string(gain.rows_gained) + " of " + std::to_string(gain.rows) + " |\n";
  }
  if (const std::optional<Farthest> farthest = farthest_from_paper(table)) {
    markdown += "\nFarthest from the paper in " +
                markdown_text(numbers_of(table.experiment.quantity).front().heading) + " of " +
                markdown_text(columns.front().name) + ": " + markdown_text(farthest->row) + ", " +
                signed_text(farthest->difference) + ".\n";
  }
  return markdown;
}

std::string section(const ResultTable& table) {
  const Experiment& experiment = table.experiment;
  std::string markdown = "\n### " + markdown_text(table.title()) + "\n";
  if (const std::string about = trimmed(experiment.about); !about.empty()) {
    markdown += "\n" + about + "\n";
  }
  if (const std::string note = held_out_note(table); !note.empty()) {
    markdown += "\n";
    markdown += markdown_text(note) + "\n";
  }
  markdown += "\n";
  markdown += table_text(table);
  if (experiment.plot == "pairs") markdown += gains_text(table);
  const auto path = [&](const std::string& ending) { return "results/" + table.file_name(ending); };
  if (has_plot(table)) {
    markdown += "\n![" + markdown_text(dataset_title(table.dataset) + ": " + table.title()) + "](" +
                path(".svg") + ")\n";
  }
  markdown += "\n";
  markdown +=
      std::to_string(table.cells()) + " of " + std::to_string(table.lines.size()) + " cells";
  if (const std::string origin = origin_of(table); !origin.empty()) {
    markdown += "; " + markdown_text(origin);
  }
  markdown += ". Files: [CSV](" + path(".csv") + "), [LaTeX](" + path(".tex") + ")";
  if (has_plot(table)) markdown += ", [SVG](" + path(".svg") + ")";
  return markdown + ".\n";
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
