#include <algorithm>
#include <cstdio>

#include "command.h"
#include "diml/dataset.h"
#include "diml/error.h"
#if DIML_HAS_NETWORKS
#include "engine/fetch_model.h"
#include "models/architecture.h"
#endif
#if DIML_HAS_TRAINING
#include "engine/torch_plugin.h"
#endif

namespace diml::cli {
namespace {

// A line of any family's table; fields that a family does not have are empty.
struct Row {
  std::string name;
  std::string about;
  std::string miner{};
  std::vector<std::pair<std::string, double>> numbers{};
};
using Rows = std::vector<Row>;

#if DIML_HAS_TRAINING
Rows rows_of(const std::vector<KindRow>& kinds) {
  Rows rows;
  for (const KindRow& kind : kinds) {
    rows.push_back({kind.name, kind.about, kind.miner, kind.defaults});
  }
  return rows;
}
Rows losses() { return rows_of(torch_plugin().losses()); }
Rows miners() { return rows_of(torch_plugin().miners()); }
Rows samplers() { return rows_of(torch_plugin().samplers()); }
#else
Rows no_training() {
  throw Error(ErrorKind::unsupported,
              "this build cannot train: install libtorch-dev and libyaml-cpp-dev, build again");
}
constexpr auto losses = no_training;
constexpr auto miners = no_training;
constexpr auto samplers = no_training;
#endif

#if DIML_HAS_NETWORKS
std::string fetched_by(const std::string& name) {
  for (const FetchableModel& model : fetchable_models()) {
    if (name == model.name) return "; trained: diml weights get " + name;
  }
  return "";
}

Rows networks(std::string (*about)(const Architecture& network)) {
  Rows rows;
  for (const std::string& name : architecture_names()) {
    rows.push_back({name, about(make_architecture(name, StridePlace::in_3x3))});
  }
  return rows;
}
Rows backbones() {
  return networks(
      [](const Architecture& network) { return network.about + fetched_by(network.name); });
}
Rows models() {
  return networks(
      [](const Architecture& network) { return network.weights + fetched_by(network.name); });
}
#else
Rows no_networks() {
  throw Error(ErrorKind::unsupported,
              "this build has no networks: 'diml doctor' says what to install");
}
constexpr auto backbones = no_networks;
constexpr auto models = no_networks;
#endif

Rows datasets() {
  Rows rows;
  for (const DatasetKind& kind : dataset_kinds()) rows.push_back({kind.name, kind.layout});
  return rows;
}

struct Family {
  const char* name;
  Rows (*rows)();
};
constexpr Family kFamilies[] = {{"losses", losses},     {"miners", miners},
                                {"samplers", samplers}, {"backbones", backbones},
                                {"models", models},     {"datasets", datasets}};

std::string text_of(const std::vector<std::pair<std::string, double>>& numbers) {
  std::string text;
  for (const auto& [name, value] : numbers) {
    char number[32];
    std::snprintf(number, sizeof(number), "%g", value);
    text += (text.empty() ? "" : " ") + name + "=" + number;
  }
  return text;
}

Json to_json(const Rows& rows) {
  Json json = Json::array();
  for (const Row& row : rows) {
    Json one = {{"name", row.name}, {"about", row.about}};
    if (!row.miner.empty()) one["miner"] = row.miner;
    if (!row.numbers.empty()) {
      one["numbers"] = Json::object();
      for (const auto& [name, value] : row.numbers) one["numbers"][name] = value;
    }
    json.push_back(std::move(one));
  }
  return json;
}

// Columns as wide as needed; an empty column is left out.
void print(const Rows& rows) {
  std::vector<std::vector<std::string>> lines = {{"name", "miner", "numbers", "what it is"}};
  for (const Row& row : rows) {
    lines.push_back({row.name, row.miner, text_of(row.numbers), row.about});
  }
  std::vector<int> widths(lines[0].size(), 0);
  for (std::size_t line = 1; line < lines.size(); ++line) {
    for (std::size_t column = 0; column < widths.size(); ++column) {
      widths[column] = std::max(widths[column], static_cast<int>(lines[line][column].size()));
    }
  }
  for (const std::vector<std::string>& line : lines) {
    for (std::size_t column = 0; column + 1 < widths.size(); ++column) {
      if (widths[column] == 0) continue;
      const int width = std::max(widths[column], static_cast<int>(lines[0][column].size()));
      std::printf("%-*s  ", width, line[column].c_str());
    }
    std::printf("%s\n", line.back().c_str());
  }
}

struct ListCommand {
  std::string family;
  std::string json;

  void run() const {
    for (const Family& one : kFamilies) {
      if (family != one.name) continue;
      JsonOutput output(json);
      const Rows rows = one.rows();
      output.write({{family, to_json(rows)}});
      if (!output.takes_standard_output()) print(rows);
    }
  }
};

}  // namespace

Run define_list(CLI::App& command) {
  auto options = std::make_shared<ListCommand>();
  std::vector<std::string> names;
  for (const Family& family : kFamilies) names.emplace_back(family.name);
  command.add_option("family", options->family, "What to list")
      ->required()
      ->check(CLI::IsMember(names));
  command.add_option("--json", options->json, "The list for programs; - for standard output");
  return [options] { options->run(); };
}

}  // namespace diml::cli
