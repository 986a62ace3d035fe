#include "plot.h"
#include "renderings.h"
#include "text_file.h"

namespace diml::experiments {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::vector<std::string> write_report(const ReportParams& params) {
  const std::vector<ResultTable> tables = read_tables(params.results, params.experiments);
  const std::string about = (fs::path(params.experiments) / "about.md").string();
  const std::string page = markdown_of(tables, fs::exists(about) ? read_text(about) : "");
  std::vector<std::string> written;
  const auto write = [&](const fs::path& path, const std::string& text) {
    write_text(path.string(), text);
    written.push_back(path.string());
  };
  const fs::path out = params.out;
  for (const ResultTable& table : tables) {
    write(out / "results" / table.file_name(".csv"), csv_of(table));
    write(out / "results" / table.file_name(".tex"), latex_of(table));
    if (has_plot(table)) write(out / "results" / table.file_name(".svg"), plot_of(table));
  }
  write(out / "results.md", page);  // last: it links to the others
  return written;
}

}  // namespace diml::experiments
