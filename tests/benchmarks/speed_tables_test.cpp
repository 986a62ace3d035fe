// Every figure of the tables in docs/speed.md comes from benchmarks/results. The tables come from
// `compare.py --markdown FILE --into docs/speed.md`; here they are written a second time, from the
// JSON.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {

using Json = nlohmann::json;
const std::filesystem::path kSource = DIML_SOURCE_FOLDER;
constexpr std::string_view kEnd = "<!-- end of table -->\n";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string rate(double value) {
  const auto digits = [](double number) {
    return formatted(number < 10 ? "%.2f" : number < 100 ? "%.1f" : "%.0f", number);
  };
  if (value >= 1e6) return digits(value / 1e6) + " M";
  if (value >= 1e3) return digits(value / 1e3) + " k";
  return formatted("%.0f", value);
}

std::string times(double value) {
  return formatted(value < 1 ? "%.2f" : value < 10 ? "%.1f" : "%.0f", value);
}

std::string speed_cell(const Json& figures) {
  std::string cell = rate(figures.at("pairs_per_second")) + "; " +
                     formatted("%.1f", figures.at("iterations").get<double>());
  if (!figures.contains("diml_times")) return cell;
  const Json& ratio = figures.at("diml_times");
  return cell + "; **" + times(ratio.at("median")) + " x** (" + times(ratio.at("least")) + " to " +
         times(ratio.at("most")) + ")";
}

// Lines that the document must have, from the results.
std::vector<std::string> expected_lines(const Json& results) {
  std::vector<std::string> lines;
  std::string heading = "| pairs/s; iterations; diml's speed over it |";
  for (const Json& collection : results.at("collections")) {
    heading += " " + collection.at("name").get<std::string>() + " |";
  }
  lines.push_back(heading);
  for (const Json& row : results.at("rows")) {
    if (row.at("threads") != "best") continue;
    std::string speeds = "| " + row.at("title").get<std::string>() + " |";
    std::string differences = speeds;
    bool has_differences = false;
    for (const Json& collection : results.at("collections")) {
      const std::string name = collection.at("name");
      speeds += " " + speed_cell(row.at("figures").at(name)) + " |";
      for (const Json& difference : results.at("agreement")) {
        if (difference.at("name") != row.at("name") || difference.at("collection") != name) {
          continue;
        }
        has_differences = true;
        differences += " " + formatted("%.0e", difference.at("mean").get<double>()) + ", " +
                       formatted("%.0e", difference.at("largest").get<double>()) + " |";
      }
    }
    lines.push_back(speeds);
    if (has_differences) lines.push_back(differences);
  }
  return lines;
}

// {name of a file of results: the text between the two comments}.
std::map<std::string, std::string> tables_of(const std::string& document) {
  constexpr std::string_view kBegin = "<!-- table of benchmarks/results/";
  std::map<std::string, std::string> tables;
  for (std::size_t at = document.find(kBegin); at != std::string::npos;
       at = document.find(kBegin, at + 1)) {
    const std::size_t name = at + kBegin.size();
    const std::size_t name_end = document.find(" -->\n", name);
    const std::size_t table = name_end + 5;
    const std::size_t end = document.find(kEnd, table);
    if (name_end == std::string::npos || end == std::string::npos) break;
    tables[document.substr(name, name_end - name)] = document.substr(table, end - table);
  }
  return tables;
}

TEST(SpeedTables, EveryFigureOfThePageWasMeasured) {
  for (const auto& [name, table] : tables_of(text_of(kSource / "docs/speed.md"))) {
    const std::filesystem::path file = kSource / "benchmarks/results" / name;
    if (!std::filesystem::exists(file)) {
      EXPECT_EQ(table, "") << "figures without " << file;
      continue;
    }
    const Json results = Json::parse(text_of(file));
    std::size_t lines = 0;
    for (const std::string& line : expected_lines(results)) {
      EXPECT_NE(table.find(line + "\n"), std::string::npos) << name << " says\n" << line;
      ++lines;
    }
    // And nothing else except two rules, the heading of the differences, and rows of missing peers.
    std::size_t found = 0;
    for (std::size_t at = table.find("| "); at != std::string::npos;
         at = table.find("\n| ", at + 1)) {
      ++found;
    }
    EXPECT_EQ(found, lines + 1 + results.at("missing").size());
    EXPECT_NE(table.find(results.at("machine").get<std::string>()), std::string::npos);
    for (const Json& words : results.at("libraries")) {
      EXPECT_NE(table.find(words.get<std::string>()), std::string::npos) << words;
    }
  }
}

TEST(SpeedTables, EveryResultHasItsTable) {
  const auto tables = tables_of(text_of(kSource / "docs/speed.md"));
  for (const auto& file : std::filesystem::directory_iterator(kSource / "benchmarks/results")) {
    if (!Json::parse(text_of(file.path())).contains("libraries")) continue;  // of no comparison
    EXPECT_TRUE(tables.count(file.path().filename().string())) << file.path();
  }
}

}  // namespace
