#include <array>
#include <string_view>
#include <utility>

#include "renderings.h"
#include "table_notes.h"

namespace diml::experiments {
namespace {

// Brackets and stars too: LaTeX reads them as arguments of a line break.
constexpr std::array<std::pair<std::string_view, std::string_view>, 24> kLatex{{
    {"\\", "\\textbackslash{}"},
    {"{", "\\{"},
    {"}", "\\}"},
    {"$", "\\$"},
    {"&", "\\&"},
    {"#", "\\#"},
    {"%", "\\%"},
    {"_", "\\_"},
    {"~", "\\textasciitilde{}"},
    {"^", "\\textasciicircum{}"},
    {"<", "\\textless{}"},
    {">", "\\textgreater{}"},
    {"|", "\\textbar{}"},
    {"\"", "''"},
    {"[", "{[}"},
    {"]", "{]}"},
    {"*", "{*}"},
    {"\n", " "},
    {"\u2013", "--"},
    {"\u2212", "$-$"},
    {"\u00d7", "$\\times$"},
    {"\u2192", "$\\to$"},
    {"\u03bb", "$\\lambda$"},
    {"\u00b7", "$\\cdot$"},
}};

std::string latex_text(std::string_view text) {
  std::string latex;
  while (!text.empty()) {
    std::string_view taken = text.substr(0, 1);
    std::string_view written = taken;
    for (const auto& [from, to] : kLatex) {
      if (text.substr(0, from.size()) == from) {
        taken = from;
        written = to;
      }
    }
    latex += written;
    text.remove_prefix(taken.size());
  }
  return latex;
}

std::string comment(std::string text) {
  for (char& letter : text) {
    if (letter == '\n' || letter == '\r') letter = ' ';
  }
  return "% " + text + "\n";
}

}  // namespace

std::string latex_of(const ResultTable& table) {
  std::string latex = comment("Written by diml experiments report; needs \\usepackage{booktabs}.");
  latex += comment(table.full_title());
  latex += comment("Each entry is ours (the paper's, the difference).");
  for (const std::string& note : {held_out_note(table), provenance_note(table)}) {
    if (!note.empty()) latex += comment(note);
  }
  latex += "\\begin{tabular}{ll" + std::string(table.metrics().size(), 'r') + "}\n\\toprule\n";
  latex += "Network & Protocol";
  for (const Metric& metric : table.metrics()) latex += " & " + latex_text(metric.heading);
  latex += " \\\\\n\\midrule\n";
  for (const Line& line : table.lines) {
    const bool starts_row = table.starts_row(line);
    if (&line != table.lines.data() && starts_row) {
      if (table.is_choice(line)) {
        latex += "\\midrule\n";
      } else if (table.experiment.columns.size() > 1) {
        latex += "\\addlinespace\n";
      }
    }
    latex += (starts_row ? latex_text(line.row) : "") + " & " + latex_text(table.column_text(line));
    for (const Metric& metric : table.metrics()) latex += " & " + entry(line, metric, kLatexSigns);
    latex += " \\\\\n";
  }
  return latex + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace diml::experiments
