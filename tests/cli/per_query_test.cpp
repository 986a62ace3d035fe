// What each query finds before and after re-ranking: the files, the page and the intervals of
// diml evaluate.

#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/raw_npy.h"
#include "cli/grid_folder.h"

namespace diml::test {
namespace {

using Json = nlohmann::json;
using Row = std::map<std::string, std::string>;

constexpr const char* kColumns =
    "image,path,label,change,first_right_before,first_right_after,p_at_1_before,p_at_1_after,"
    "r_precision_before,r_precision_after,average_precision_before,average_precision_after,"
    "nearest_before,nearest_before_path,nearest_before_label,nearest_after,nearest_after_path,"
    "nearest_after_label";

// RFC 4180: fields in quotes may contain commas, quotes and line breaks.
std::vector<std::vector<std::string>> csv(const std::string& text) {
  std::vector<std::vector<std::string>> lines(1, {""});
  bool quoted = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (c == '"') {
      if (quoted && k + 1 < text.size() && text[k + 1] == '"') {
        lines.back().back() += text[++k];
      } else {
        quoted = !quoted;
      }
    } else if (!quoted && c == ',') {
      lines.back().emplace_back();
    } else if (!quoted && text.compare(k, 2, "\r\n") == 0) {
      ++k;
      lines.push_back({""});
    } else {
      lines.back().back() += c;
    }
  }
  EXPECT_EQ(lines.back(), std::vector<std::string>{""}) << "the last line has no end";
  lines.pop_back();
  return lines;
}

class PerQuery : public ProgramFolder {
 protected:
  static constexpr std::size_t kImages = 120;

  PerQuery() {
    run_well({"generate", "--images", std::to_string(kImages), "--classes", "12", "--grid", "3",
              "--dim", "12", "--seed", "3", "--out", "g"});
  }

  static Arguments evaluate(const Arguments& more) {
    Arguments arguments = {"evaluate", "--cells",      "g.cells.npy", "--globals", "g.globals.npy",
                           "--labels", "g.labels.npy", "--rerank",    "0,5,30"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  Json evaluated(Arguments more = {}) const {
    more.insert(more.end(), {"--json", "-"});
    Json json = Json::parse(run_well(evaluate(more)));
    json.erase("seconds");
    return json;
  }

  std::vector<Row> rows_in(const std::string& name) const {
    const auto lines = csv(bytes_of(at(name)));
    std::vector<Row> rows;
    for (std::size_t k = 1; k < lines.size(); ++k) {
      EXPECT_EQ(lines[k].size(), lines[0].size());
      Row row;
      for (std::size_t c = 0; c < lines[k].size(); ++c) row[lines[0][c]] = lines[k][c];
      rows.push_back(std::move(row));
    }
    return rows;
  }
  std::vector<Json> lines_in(const std::string& name) const {
    std::istringstream text(bytes_of(at(name)));
    std::vector<Json> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
    return lines;
  }

  void put_paths(const std::string& name) const {
    std::string lines;
    for (std::size_t i = 0; i < kImages; ++i) lines += "a, \"b\" <" + std::to_string(i) + ">.jpg\n";
    write_bytes(at(name), lines);
  }
};

TEST_F(PerQuery, TheColumnsAreTheDocumentedOnesAndTheirMeansAreTheTable) {
  const Json table = evaluated({"--per-query", "q.csv"});
  const std::string text = bytes_of(at("q.csv"));
  EXPECT_EQ(text.substr(0, text.find("\r\n")), kColumns);
  const std::vector<Row> rows = rows_in("q.csv");
  ASSERT_EQ(rows.size(), table.at("queries").get<std::size_t>());
  const auto mean = [&rows](const std::string& column) {
    double sum = 0.0;
    for (const Row& row : rows) sum += std::stod(row.at(column));
    return sum / static_cast<double>(rows.size());
  };
  const Json& before = table.at("results")[0];
  const Json& after = table.at("results")[2];  // the deepest
  for (const char* metric : {"p_at_1", "r_precision"}) {
    EXPECT_NEAR(mean(std::string(metric) + "_before"), before.at(metric), 1e-3) << metric;
    EXPECT_NEAR(mean(std::string(metric) + "_after"), after.at(metric), 1e-3) << metric;
  }
  EXPECT_NEAR(mean("average_precision_before"), before.at("map_at_r"), 1e-3);
  EXPECT_NEAR(mean("average_precision_after"), after.at("map_at_r"), 1e-3);
}

TEST_F(PerQuery, AQueryIsFixedWhereItsFirstBecomesRight) {
  const Json table = evaluated({"--per-query", "q.csv"});
  std::map<std::string, std::size_t> count;
  const auto is_right = [](const Row& row, const std::string& when) {
    EXPECT_EQ(row.at("p_at_1_" + when), row.at("first_right_" + when) == "1" ? "100" : "0");
    const bool same_label = row.at("nearest_" + when + "_label") == row.at("label");
    EXPECT_EQ(same_label, row.at("first_right_" + when) == "1");
    return same_label;
  };
  for (const Row& row : rows_in("q.csv")) {
    const bool before = is_right(row, "before");
    const bool after = is_right(row, "after");
    EXPECT_EQ(row.at("change"), before == after ? "same" : after ? "fixed" : "broken");
    ++count[row.at("change")];
  }
  const Json& gain = table.at("gains")[1];
  EXPECT_EQ(gain.at("rerank"), 30);
  for (const char* change : {"fixed", "broken", "same"}) {
    EXPECT_EQ(gain.at(change), count[change]) << change;
  }
  EXPECT_GT(count["fixed"], 0u) << "a test of nothing";
  EXPECT_GT(count["broken"], 0u) << "a test of nothing";
  EXPECT_EQ(run_well(evaluate({})).find(gain.at("summary").get<std::string>()) != std::string::npos,
            true);
}

TEST_F(PerQuery, TheLinesForProgramsSayWhatTheTableForPeopleSays) {
  put_paths("paths.txt");
  run_well(evaluate({"--per-query", "q.csv", "--paths", "paths.txt"}));
  run_well(evaluate({"--per-query", "q.jsonl", "--paths", "paths.txt"}));
  run_well(evaluate({"--per-query", "bare.jsonl"}));
  const std::vector<Row> rows = rows_in("q.csv");
  const std::vector<Json> lines = lines_in("q.jsonl");
  ASSERT_EQ(lines.size(), rows.size());
  for (std::size_t q = 0; q < rows.size(); ++q) {
    const Row& row = rows[q];
    const Json& line = lines[q];
    EXPECT_EQ(row.at("path"), "a, \"b\" <" + row.at("image") + ">.jpg");
    EXPECT_EQ(line.at("path"), row.at("path"));
    EXPECT_EQ(line.at("label"), row.at("label"));
    EXPECT_EQ(std::to_string(line.at("image").get<int>()), row.at("image"));
    EXPECT_EQ(line.at("change"), row.at("change"));
    for (const std::string when : {"before", "after"}) {
      const Json& found = line.at(when);
      const Json& rank = found.at("first_right");
      EXPECT_EQ(rank.is_null() ? "" : std::to_string(rank.get<int>()),
                row.at("first_right_" + when));
      EXPECT_NEAR(found.at("average_precision"), std::stod(row.at("average_precision_" + when)),
                  1e-3);
      EXPECT_EQ(found.at("nearest").at("path"), row.at("nearest_" + when + "_path"));
      EXPECT_EQ(std::to_string(found.at("nearest").at("image").get<int>()),
                row.at("nearest_" + when));
    }
  }
  EXPECT_TRUE(lines_in("bare.jsonl")[0].at("path").is_null());
}

TEST_F(PerQuery, IntervalsContainTheirNumberAndFollowTheSeed) {
  const Json once = evaluated({"--seed", "7"});
  EXPECT_EQ(evaluated({"--seed", "7", "--threads", "1"}), once);
  EXPECT_NE(evaluated({"--seed", "8"}).at("results")[0].at("intervals"),
            once.at("results")[0].at("intervals"));
  EXPECT_EQ(once.at("confidence"), (Json{{"level", 95.0}, {"resamples", 1000}, {"seed", 7}}));
  const auto expect_inside = [](const Json& numbers) {
    for (const auto& [metric, interval] : numbers.at("intervals").items()) {
      EXPECT_LE(interval[0].get<double>(), numbers.at(metric).get<double>()) << metric;
      EXPECT_GE(interval[1].get<double>(), numbers.at(metric).get<double>()) << metric;
      // Re-ranking five of them cannot change how many of the first nine are right.
      if (numbers.at("rerank") != 5) {
        EXPECT_LT(interval[0], interval[1]) << metric;
      }
    }
    EXPECT_EQ(numbers.at("intervals").size(), 3u);
  };
  for (const Json& result : once.at("results")) expect_inside(result);
  for (const Json& gain : once.at("gains")) expect_inside(gain);
  EXPECT_NE(run_well(evaluate({"--seed", "7"})).find("95 % intervals, from 1000 resamples"),
            std::string::npos);

  const Json without = evaluated({"--resamples", "0"});
  EXPECT_FALSE(without.contains("confidence"));
  EXPECT_FALSE(without.at("results")[0].contains("intervals"));
  EXPECT_EQ(without.at("results")[0].at("p_at_1"), once.at("results")[0].at("p_at_1"));
  EXPECT_EQ(run_well(evaluate({"--resamples", "0"})).find("intervals"), std::string::npos);
}

TEST_F(PerQuery, QueriesThatAreLeftOutHaveNoLine) {
  std::vector<std::int64_t> labels(kImages);
  NpyFile(at("g.labels.npy")).read_int64s(0, labels);
  labels[3] = 99;  // alone in its class
  labels[8] = -1;
  write_integers(at("g.labels.npy"), {kImages}, labels);
  const Json table = evaluated({"--per-query", "q.csv"});
  EXPECT_EQ(table.at("queries"), kImages - 2);
  const std::vector<Row> rows = rows_in("q.csv");
  EXPECT_EQ(rows.size(), kImages - 2);
  for (const Row& row : rows) {
    EXPECT_NE(row.at("image"), "3");
    EXPECT_NE(row.at("image"), "8");
    EXPECT_NE(row.at("nearest_after"), "8");
  }
}

TEST_F(PerQuery, RefusesWhatCannotBeCompared) {
  const auto refused = [&](const Arguments& more, const std::vector<std::string>& words) {
    expect_refused(evaluate(more), words);
  };
  refused({"--per-query", "q.txt"}, {"q.txt", ".csv", ".jsonl"});
  refused({"--per-query", "no/such/q.csv"}, {"no/such/q.csv"});
  refused({"--per-query", "g.cells.npy"}, {"g.cells.npy"});
  refused({"--per-query", "q.csv", "--json", "q.csv"}, {"q.csv", "twice"});
  refused({"--per-query", "q.csv", "--paths", "none.txt"}, {"none.txt"});
  write_bytes(at("few.txt"), "a.jpg\n");
  refused({"--per-query", "q.csv", "--paths", "few.txt"}, {"few.txt", "1 line", "120"});
  for (const char* depths : {"0", "100", "5,10"}) {
    expect_refused({"evaluate", "--cells", "g.cells.npy", "--labels", "g.labels.npy", "--rerank",
                    depths, "--per-query", "q.csv"},
                   {"--rerank 0,100"});
  }
}

}  // namespace
}  // namespace diml::test
