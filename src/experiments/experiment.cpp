#include <algorithm>
#include <array>
#include <filesystem>

#include "base/nearest_name.h"
#include "base/setting_text.h"
#include "base/yaml_document.h"
#include "experiments/experiments.h"
#include "protocol.h"
#include "text_file.h"

namespace diml::experiments {
namespace {

namespace fs = std::filesystem;

// The metrics of the paper's tables, in their order.
const std::vector<std::string> kPaperMetrics = {"p_at_1", "r_precision_paper", "map_at_r_paper"};

YamlDocument document_at(const std::string& path) { return {path, read_text(path), "experiments"}; }

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)), document_(document_at(path_)) {}

  Experiment read() {
    experiment_.name = fs::path(path_).stem().string();
    for (const auto& entry : document_.root()) take(entry.first.Scalar(), entry.second);
    if (experiment_.rows.empty()) document_.fail(document_.root(), "has no rows: name networks");
    if (experiment_.columns.empty()) {
      document_.fail(document_.root(), "has no columns: name evaluation protocols");
    }
    if (experiment_.choice && experiment_.metric_family != MetricFamily::retrieval) {
      document_.fail(document_.root(),
                     "a choice is made by MAP@R: it needs the quantity retrieval");
    }
    for (const Column& column : experiment_.columns) {
      try {
        check(column.protocol, experiment_.metric_family);
      } catch (const Error& error) {
        throw with_context(error, path_ + ": the column '" + column.name + "': ");
      }
    }
    expect_known_names();
    return std::move(experiment_);
  }

 private:
  void take(const std::string& key, const YAML::Node& node) {
    if (key == "title") {
      experiment_.title = text(key, node);
    } else if (key == "about") {
      experiment_.about = text(key, node);
    } else if (key == "plot") {
      experiment_.plot =
          one_of<PlotKind>(key, node, {{{"pairs", PlotKind::pairs}, {"lines", PlotKind::lines}}});
    } else if (key == "quantity") {
      experiment_.metric_family = one_of<MetricFamily>(
          key, node, {{{"retrieval", MetricFamily::retrieval}, {"parts", MetricFamily::parts}}});
    } else if (key == "recipe") {
      const YamlDocument recipe =
          document_at((fs::path(path_).parent_path() / text(key, node)).string());
      // The table's own settings win, before and after this line.
      experiment_.settings = merged(settings_in(recipe, recipe.root()), experiment_.settings);
    } else if (key == "settings") {
      experiment_.settings = merged(experiment_.settings, settings_in(document_, node));
    } else if (key == "rows") {
      each(key, node, [&](const std::string& name, const YAML::Node& row) { add_row(name, row); });
    } else if (key == "columns") {
      each(key, node,
           [&](const std::string& name, const YAML::Node& column) { add_column(name, column); });
    } else if (key == "choice") {
      each(key, node, [&](const std::string& name, const YAML::Node& settings) {
        if (experiment_.choice) document_.fail(settings, "there are two choices: a table has one");
        experiment_.choice = ChosenRow{name, settings_in(document_, settings)};
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

  template <typename Value>
  Value one_of(const std::string& key, const YAML::Node& node,
               const std::array<std::pair<std::string, Value>, 2>& known) const {
    const std::string name = text(key, node);
    for (const auto& [known_name, value] : known) {
      if (known_name == name) return value;
    }
    document_.fail(node, key + " cannot be '" + name + "': there are " + known[0].first + " and " +
                             known[1].first);
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

  template <typename Named>
  void expect_new(const std::vector<Named>& others, const std::string& what,
                  const std::string& name, const YAML::Node& node) const {
    for (const Named& other : others) {
      if (other.name == name) document_.fail(node, "there are two " + what + " '" + name + "'");
    }
  }

  void add_row(const std::string& name, const YAML::Node& node) {
    Row row{.name = name, .settings = settings_in(document_, node)};
    if (const auto trained = row.settings.find("trained"); trained != row.settings.end()) {
      row.trained = one_of<bool>("trained", node["trained"], {{{"true", true}, {"false", false}}});
      row.settings.erase(trained);
    }
    if (const auto projection = row.settings.find("projection"); projection != row.settings.end()) {
      row.projection = one_of<std::string>("projection", node["projection"],
                                           {{{"pca", "pca"}, {"random", "random"}}});
      if (row.trained) {
        document_.fail(node, "a row with the projection pca or random needs trained: false");
      }
      row.settings.erase(projection);
    }
    expect_new(experiment_.rows, "rows", name, node);
    experiment_.rows.push_back(std::move(row));
  }

  void add_column(const std::string& name, const YAML::Node& node) {
    Column column{.name = name};
    document_.each_setting(
        node, [&](const std::string& field, const std::string& value, const YAML::Node& where) {
          try {
            set(column.protocol, field, value);
          } catch (const Error& error) {
            document_.fail(where, error);
          }
        });
    expect_new(experiment_.columns, "columns", name, node);
    experiment_.columns.push_back(std::move(column));
  }

  void read_paper(const YAML::Node& node) {
    each("paper", node, [&](const std::string& dataset, const YAML::Node& rows) {
      each("paper", rows, [&](const std::string& row, const YAML::Node& columns) {
        each("paper", columns, [&](const std::string& column, const YAML::Node& values) {
          if (!values.IsSequence() || values.size() != kPaperMetrics.size()) {
            document_.fail(values, "the paper's values are P@1, RP and MAP@R, ~ for none");
          }
          for (std::size_t k = 0; k < kPaperMetrics.size(); ++k) {
            if (values[k].IsNull()) continue;
            double& value = experiment_.paper[{dataset, row, column}][kPaperMetrics[k]];
            if (!values[k].IsScalar() || !text::from_text(values[k].Scalar(), value) ||
                value < 0.0 || value > 100.0) {
              document_.fail(values[k], "the paper's values are percentages, 0 to 100");
            }
          }
        });
      });
    });
  }

  void expect_known_names() const {
    for (const auto& [key, values] : experiment_.paper) {
      expect_known(key[1], experiment_.rows, "row");
      expect_known(key[2], experiment_.columns, "column");
    }
  }

  template <typename Named>
  void expect_known(const std::string& name, const std::vector<Named>& all,
                    const std::string& what) const {
    std::vector<std::string> known;
    for (const Named& one : all) known.push_back(one.name);
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    throw Error(path_ + ": the paper's values name a " + what + " '" + name +
                "', which the table does not have: the nearest is " + nearest_name(name, known));
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
