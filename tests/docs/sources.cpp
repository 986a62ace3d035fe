#include "sources.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>

#include <nlohmann/json.hpp>

#include "diml/error.h"

namespace diml::experiments {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

double known(const std::optional<double>& value, const std::string& what) {
  if (!value) throw Error("there is no number " + what);
  return *value;
}

// Last column minus the first, for the rows that have both.
std::vector<double> gains(const ResultTable& table,
                          const std::function<std::optional<double>(const Line&)>& number) {
  std::vector<double> found;
  const std::size_t columns = table.experiment.columns.size();
  for (std::size_t row = 0; row < table.experiment.rows.size(); ++row) {
    const auto first = number(table.line(row, 0));
    const auto last = number(table.line(row, columns - 1));
    if (first && last) found.push_back(*last - *first);
  }
  if (found.empty()) throw Error("no row of " + table.experiment.name + " has both ends");
  return found;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double p_at_1(const Json& epoch, const std::string& rerank) {
  for (const Json& result : epoch.at("results")) {
    if (std::to_string(result.at("rerank").get<std::size_t>()) == rerank)
      return result.at("p_at_1");
  }
  throw Error("the curve has no K = " + rerank);
}

}  // namespace

Sources::Sources(std::string repository)
    : repository_(std::move(repository)),
      tables_(read_tables(repository_ + "/experiments/results", repository_ + "/experiments")) {}

const ResultTable& Sources::table(const std::string& name) const {
  for (const ResultTable& table : tables_) {
    if (table.dataset == "cub200" && table.experiment.name == name) return table;
  }
  throw Error("there is no table " + name);
}

const Line& Sources::line(const std::vector<std::string>& path) const {
  if (path.size() != 4) throw Error("a number of a table is named TABLE/ROW/COLUMN/NUMBER");
  for (const Line& line : table(path[0]).lines) {
    if (line.row == path[1] && line.column == path[2]) return line;
  }
  throw Error(path[0] + " has no row '" + path[1] + "' with a column '" + path[2] + "'");
}

double Sources::curve(const std::vector<std::string>& path) const {
  if (path.size() != 5) throw Error("a curve is named LOSS/MEASURE/SEEDS/CHOSEN_BY/SHOWN");
  std::vector<double> values;
  for (const std::string& seed : split(path[2], ',')) {
    for (const auto& entry : fs::directory_iterator(repository_ + "/experiments/results/curves")) {
      std::ifstream file(entry.path());
      std::string text;
      std::getline(file, text);
      const Json settings = Json::parse(text).at("settings");
      if (settings.at("dataset.name") != "cub200" || settings.at("loss.name") != path[0] ||
          settings.at("seed") != seed || settings.value("measure.kind", "global") != path[1]) {
        continue;
      }
      double best = -1.0;
      double shown = 0.0;
      while (std::getline(file, text)) {
        const Json epoch = Json::parse(text);
        if (!epoch.contains("results") || epoch.at("epoch") == 0) continue;
        if (p_at_1(epoch, path[3]) <= best) continue;
        best = p_at_1(epoch, path[3]);
        shown = p_at_1(epoch, path[4]);
      }
      values.push_back(shown);
    }
  }
  if (values.size() != split(path[2], ',').size()) throw Error("a seed has no curve, or two");
  return mean(values);
}

double Sources::term(const std::string& text) const {
  const std::size_t colon = text.find(':');
  const std::string kind = colon == std::string::npos ? "" : text.substr(0, colon);
  const std::string rest = colon == std::string::npos ? text : text.substr(colon + 1);
  const std::vector<std::string> path = split(rest, '/');
  if (kind.empty()) return known(line(path).ours_of(path.back()), text);
  if (kind == "paper") return known(line(path).paper_of(path.back()), text);
  if (kind == "deviation") return known(line(path).deviation_of(path.back()), text);
  if (kind == "best") return curve(path);
  if (kind == "file") {
    const std::size_t pointer = rest.find('#');
    std::ifstream file(repository_ + "/" + rest.substr(0, pointer));
    if (!file) throw Error("there is no file " + rest.substr(0, pointer));
    return Json::parse(file).at(Json::json_pointer(rest.substr(pointer + 1))).get<double>();
  }
  if (kind == "gain" || kind == "gaining") {
    const std::vector<double> all =
        gains(table(path.at(0)), [&](const Line& line) { return line.ours_of(path.at(1)); });
    if (kind == "gain") return mean(all);
    return static_cast<double>(
        std::count_if(all.begin(), all.end(), [](double gain) { return gain > 0.0; }));
  }
  if (kind == "paper_gain") {
    return mean(
        gains(table(path.at(0)), [&](const Line& line) { return line.paper_of(path.at(1)); }));
  }
  throw Error("there is no kind of source '" + kind + "'");
}

double Sources::value(const std::string& source) const {
  double sum = 0.0;
  double sign = 1.0;
  std::size_t from = 0;
  while (true) {
    const std::size_t plus = source.find(" + ", from);
    const std::size_t minus = source.find(" - ", from);
    const std::size_t end = std::min(plus, minus);
    sum += sign * term(source.substr(from, end == std::string::npos ? end : end - from));
    if (end == std::string::npos) return sum;
    sign = end == plus ? 1.0 : -1.0;
    from = end + 3;
  }
}

}  // namespace diml::experiments
