#include <array>
#include <string_view>
#include <utility>

#include "origin.h"
#include "renderings.h"

namespace diml::experiments {
namespace {

// Brackets and stars too: after a line's end LaTeX would take them for its argument.
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
  const std::vector<Number>& numbers = numbers_of(table.experiment.quantity);
  std::string latex = comment("Made by diml experiments report; needs \\usepackage{booktabs}.");
  latex += comment(dataset_title(table.dataset) + ": " + table.title());
  latex += comment("In each entry: ours (the paper's, the difference).");
  if (const std::string note = held_out_note(table); !note.empty()) latex += comment(note);
  if (const std::string origin = origin_of(table); !origin.empty()) latex += comment(origin);
  latex += "\\begin{tabular}{ll" + std::string(numbers.size(), 'r') + "}\n\\toprule\n";
  latex += "Network & Look";
  for (const Number& number : numbers) latex += " & " + latex_text(number.heading);
  latex += " \\\\\n\\midrule\n";
  for (std::size_t k = 0; k < table.lines.size(); ++k) {
    const Line& line = table.lines[k];
    const bool first = k == 0 || table.lines[k - 1].row != line.row || table.is_choice(line);
    if (k > 0 && table.is_choice(line)) {
      latex += "\\midrule\n";
    } else if (k > 0 && first && table.experiment.columns.size() > 1) {
      latex += "\\addlinespace\n";
    }
    latex += (first ? latex_text(line.row) : "") + " & " + latex_text(table.column_text(line));
    for (const Number& number : numbers) latex += " & " + entry(line, number, kLatexSigns);
    latex += " \\\\\n";
  }
  return latex + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace diml::experiments
