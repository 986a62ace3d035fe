// A table of images: label, path and split; optionally is_query, is_gallery and a box x_1, y_1,
// x_2, y_2.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/system_error.h"
#include "diml/error.h"
#include "readers.h"

namespace diml::datasets {
namespace {

// Fields may be quoted, with "" for a quote inside.
std::vector<std::string> split_fields(const std::string& line, const std::string& where) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t k = 0; k < line.size(); ++k) {
    const char c = line[k];
    if (quoted && c == '"' && k + 1 < line.size() && line[k + 1] == '"') {
      fields.back() += line[++k];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  if (quoted) throw Error(where + ": a quote is not closed");
  return fields;
}

struct Row {
  std::map<std::string, std::string> values;  // by column
  std::string where;

  bool has(const char* column) const {
    const auto found = values.find(column);
    return found != values.end() && !found->second.empty();
  }
  const std::string& at(const char* column) const { return values.at(column); }
  bool truth(const char* column) const {
    if (!has(column)) return true;
    const std::string& text = at(column);
    if (text == "1" || text == "true" || text == "True") return true;
    if (text == "0" || text == "false" || text == "False") return false;
    throw Error(where + ": " + column + " is '" + text + "', not true or false");
  }
};

std::vector<Row> read_rows(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw system_error(path + ": cannot be opened", errno);
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> columns = split_fields(line, path + ":1");
  for (const char* wanted : {"label", "path"}) {
    if (std::find(columns.begin(), columns.end(), wanted) == columns.end()) {
      throw Error(path + ": has no column '" + wanted +
                  "': its first line names label, path, split");
    }
  }
  std::vector<Row> rows;
  for (std::size_t number = 2; std::getline(file, line); ++number) {
    if (line.empty() || line == "\r") continue;
    Row row;
    row.where = path + ":" + std::to_string(number);
    const std::vector<std::string> fields = split_fields(line, row.where);
    if (fields.size() != columns.size()) {
      throw Error(row.where + ": has " + std::to_string(fields.size()) +
                  " fields, the first line " + std::to_string(columns.size()));
    }
    for (std::size_t c = 0; c < columns.size(); ++c) row.values[columns[c]] = fields[c];
    rows.push_back(std::move(row));
  }
  return rows;
}

bool in_split(const Row& row, Split split) {
  if (split == Split::all || !row.has("split")) return true;
  return split_from(row.at("split")) == split;
}

}  // namespace

Dataset load_csv(const std::string& root, Split split) {
  namespace fs = std::filesystem;
  const std::string path = fs::is_directory(root) ? root + "/images.csv" : root;
  const std::vector<Row> rows = read_rows(path);
  Dataset dataset;
  dataset.name = "csv";
  std::set<std::string> names;
  for (const Row& row : rows) names.insert(row.at("label"));
  for (const char* none : {"", "-1"}) names.erase(none);  // images without a label
  dataset.class_names.assign(names.begin(), names.end());
  for (const Row& row : rows) {
    if (!in_split(row, split)) {
      ++dataset.in_other_splits;
      continue;
    }
    const auto label =
        std::lower_bound(dataset.class_names.begin(), dataset.class_names.end(), row.at("label"));
    const std::int64_t place =
        names.contains(row.at("label")) ? label - dataset.class_names.begin() : -1;
    Sample sample{.path = (fs::path(path).parent_path() / row.at("path")).string(),
                  .label = place,
                  .is_query = row.truth("is_query"),
                  .is_gallery = row.truth("is_gallery")};
    if (row.has("x_1") && row.has("y_1") && row.has("x_2") && row.has("y_2")) {
      const auto number = [&row](const char* column) {
        return number_of(row.at(column), row.where);
      };
      sample.box = {number("x_1"), number("y_1"), number("x_2") - number("x_1"),
                    number("y_2") - number("y_1")};
    }
    dataset.samples.push_back(std::move(sample));
  }
  return dataset;
}

}  // namespace diml::datasets
