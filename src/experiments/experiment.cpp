#include <filesystem>

#include "base/nearest_name.h"
#include "base/setting_text.h"
#include "base/yaml_document.h"
#include "diml/experiments.h"
#include "diml/input_file.h"
#include "look.h"

namespace diml::experiments {
namespace {

namespace fs = std::filesystem;

// What the paper's tables print, in their order.
const std::vector<std::string> kPrinted = {"p_at_1", "r_precision_paper", "map_at_r_paper"};

YamlDocument document_at(const std::string& path) {
  const std::vector<std::uint8_t> bytes = read_file(path);
  return {path, {bytes.begin(), bytes.end()}, "experiments"};
}

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)), document_(document_at(path_)) {}

  Experiment read() {
    experiment_.name = fs::path(path_).stem().string();
    for (const auto& entry : document_.root()) take(entry.first.Scalar(), entry.second);
    if (experiment_.rows.empty()) document_.fail(document_.root(), "has no rows: name networks");
    if (experiment_.columns.empty()) {
      document_.fail(document_.root(), "has no columns: name ways to look at a network");
    }
    if (experiment_.choice && experiment_.quantity != Quantity::retrieval) {
      document_.fail(document_.root(), "a choice goes by MAP@R: it needs the quantity retrieval");
    }
    for (const Column& column : experiment_.columns) {
      try {
        check(column.look, experiment_.quantity);
      } catch (const Error& error) {
        throw with_context(error, path_ + ": the column '" + column.name + "': ");
      }
    }
    expect_known_cells();
    return std::move(experiment_);
  }

 private:
  void take(const std::string& key, const YAML::Node& node) {
    if (key == "title") {
      experiment_.title = text(key, node);
    } else if (key == "about") {
      experiment_.about = text(key, node);
    } else if (key == "plot") {
      experiment_.plot = one_of(key, node, {"pairs", "lines"});
    } else if (key == "quantity") {
      const bool parts = one_of(key, node, {"retrieval", "parts"}) == "parts";
      experiment_.quantity = parts ? Quantity::parts : Quantity::retrieval;
    } else if (key == "recipe") {
      const YamlDocument recipe =
          document_at((fs::path(path_).parent_path() / text(key, node)).string());
      // What this file says itself wins, wherever it says it.
      for (const auto& [name, value] : settings_in(recipe, recipe.root())) {
        experiment_.settings.emplace(name, value);
      }
    } else if (key == "settings") {
      for (const auto& [name, value] : settings_in(document_, node)) {
        experiment_.settings[name] = value;
      }
    } else if (key == "rows") {
      each(key, node, [&](const std::string& name, const YAML::Node& row) { add_row(name, row); });
    } else if (key == "columns") {
      each(key, node,
           [&](const std::string& name, const YAML::Node& column) { add_column(name, column); });
    } else if (key == "choice") {
      each(key, node, [&](const std::string& name, const YAML::Node& settings) {
        if (experiment_.choice) document_.fail(settings, "there are two choices: a table has one");
        experiment_.choice = Choice{name, settings_in(document_, settings)};
      });
    } else if (key == "paper") {
      read_paper(node);
    } else {
      const std::vector<std::string> known = {"title",    "about", "plot",    "quantity", "recipe",
                                              "settings", "rows",  "columns", "choice",   "paper"};
      document_.fail(
          node, "an experiment has no '" + key + "': the nearest is " + nearest_name(key, known));
    }
  }

  std::string text(const std::string& key, const YAML::Node& node) const {
    if (!node.IsScalar()) document_.fail(node, key + " is a text");
    return node.Scalar();
  }

  std::string one_of(const std::string& key, const YAML::Node& node,
                     const std::vector<std::string>& known) const {
    std::string value = text(key, node);
    if (std::find(known.begin(), known.end(), value) != known.end()) return value;
    document_.fail(node,
                   key + " cannot be '" + value + "': there are " + known[0] + " and " + known[1]);
  }

  void each(const std::string& key, const YAML::Node& node,
            const std::function<void(const std::string&, const YAML::Node&)>& take) const {
    if (!node.IsMap()) document_.fail(node, key + " is a map of names");
    for (const auto& entry : node) take(entry.first.Scalar(), entry.second);
  }

  static Settings settings_in(const YamlDocument& document, const YAML::Node& node) {
    Settings settings;
    document.each_setting(node, [&](const std::string& name, const std::string& value,
                                    const YAML::Node&) { settings[name] = value; });
    return settings;
  }

  void add_row(const std::string& name, const YAML::Node& node) {
    Row row{.name = name, .settings = settings_in(document_, node)};
    if (const auto trained = row.settings.find("trained"); trained != row.settings.end()) {
      row.trained = one_of("trained", node["trained"], {"true", "false"}) == "true";
      row.settings.erase(trained);
    }
    if (const auto projection = row.settings.find("projection"); projection != row.settings.end()) {
      row.projection = one_of("projection", node["projection"], {"pca", "random"});
      if (row.trained) {
        document_.fail(node, "a row with a projection that is not learnt needs trained: false");
      }
      row.settings.erase(projection);
    }
    for (const Row& other : experiment_.rows) {
      if (other.name == name) document_.fail(node, "there are two rows '" + name + "'");
    }
    experiment_.rows.push_back(std::move(row));
  }

  void add_column(const std::string& name, const YAML::Node& node) {
    Column column{.name = name};
    document_.each_setting(
        node, [&](const std::string& field, const std::string& value, const YAML::Node& where) {
          try {
            set(column.look, field, value);
          } catch (const Error& error) {
            document_.fail(where, error);
          }
        });
    for (const Column& other : experiment_.columns) {
      if (other.name == name) document_.fail(node, "there are two columns '" + name + "'");
    }
    experiment_.columns.push_back(std::move(column));
  }

  void read_paper(const YAML::Node& node) {
    each("paper", node, [&](const std::string& dataset, const YAML::Node& rows) {
      each("paper", rows, [&](const std::string& row, const YAML::Node& columns) {
        each("paper", columns, [&](const std::string& column, const YAML::Node& numbers) {
          if (!numbers.IsSequence() || numbers.size() != kPrinted.size()) {
            document_.fail(numbers, "the paper's numbers are P@1, RP and MAP@R, ~ for none");
          }
          for (std::size_t k = 0; k < kPrinted.size(); ++k) {
            if (numbers[k].IsNull()) continue;
            double& number = experiment_.paper[dataset][row][column][kPrinted[k]];
            if (!numbers[k].IsScalar() || !text::from_text(numbers[k].Scalar(), number) ||
                number < 0.0 || number > 100.0) {
              document_.fail(numbers[k], "the paper's numbers are percentages, 0 to 100");
            }
          }
        });
      });
    });
  }

  void expect_known_cells() const {
    for (const auto& [dataset, rows] : experiment_.paper) {
      for (const auto& [row, columns] : rows) {
        std::vector<std::string> known;
        for (const Row& one : experiment_.rows) known.push_back(one.name);
        expect_known(row, known, "row");
        known.clear();
        for (const Column& one : experiment_.columns) known.push_back(one.name);
        for (const auto& [column, numbers] : columns) expect_known(column, known, "column");
      }
    }
  }

  void expect_known(const std::string& name, const std::vector<std::string>& known,
                    const std::string& what) const {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    throw Error(path_ + ": the paper's numbers name a " + what + " '" + name +
                "': the nearest there is is " + nearest_name(name, known));
  }

  std::string path_;
  YamlDocument document_;
  Experiment experiment_;
};

}  // namespace

Experiment read_experiment(const std::string& path) {
  try {
    return Reader(path).read();
  } catch (const YAML::Exception& error) {
    throw Error(path + ":" + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
}

}  // namespace diml::experiments
