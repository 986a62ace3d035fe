#include <filesystem>

#include "diml/input_file.h"
#include "diml/output_file.h"
#include "plot.h"
#include "renderings.h"

namespace diml::experiments {
namespace {

namespace fs = std::filesystem;

// What people wrote about the results; need not be there.
std::string about_text(const std::string& experiments) {
  const std::string path = (fs::path(experiments) / "about.md").string();
  if (!fs::exists(path)) return "";
  const std::vector<std::uint8_t> bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

class Writer {
 public:
  void write(const std::string& path, const std::string& text) {
    OutputFile file(path);
    file.write(text);
    file.commit();
    written_.push_back(path);
  }
  std::vector<std::string> take() { return std::move(written_); }

 private:
  std::vector<std::string> written_;
};

}  // namespace

std::vector<std::string> write_report(const ReportParams& params) {
  const std::vector<ResultTable> tables = read_tables(params.results, params.experiments);
  const std::string page = markdown_of(tables, about_text(params.experiments));
  const fs::path out = params.out;
  const std::string folder = (out / "results").string();
  make_folder(folder);
  Writer writer;
  for (const ResultTable& table : tables) {
    const std::string base = folder + "/" + table.file_name("");
    writer.write(base + ".csv", csv_of(table));
    writer.write(base + ".tex", latex_of(table));
    if (has_plot(table)) writer.write(base + ".svg", plot_of(table));
  }
  // Last: what it links to is there.
  writer.write((out / "results.md").string(), page);
  return writer.take();
}

}  // namespace diml::experiments
