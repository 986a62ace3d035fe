#include "provenance.h"

#include <algorithm>
#include <set>

#include "base/sha256.h"
#include "versions.h"

namespace diml::experiments {
namespace {

// Where and how fast a network is trained: a run may continue on another machine.
const std::set<std::string> kMachineSettings = {
    "dataset.root",  "device",           "threads",           "cache_mb",
    "model.weights", "checkpoint_steps", "checkpoint_epochs", "measure.matcher"};

// The settings that a table decides.
Settings table_settings(Settings settings) {
  std::erase_if(settings, [](const auto& setting) {
    return kMachineSettings.contains(setting.first) || setting.first == "dataset.name" ||
           setting.first == "seed";
  });
  return settings;
}

bool has_metrics_and_protocol(const Result& result, const Protocol& protocol,
                              MetricFamily metric_family) {
  return result.metrics.contains(metric_family == MetricFamily::parts ? "exact" : "p_at_1") &&
         result.protocol == protocol;
}

}  // namespace

NetworkSpec network_of(const Result& result) {
  Settings versions;
  for (const auto& [part, now] : training_versions(result.settings)) {
    versions[part] = version_in(result.versions, part);
  }
  return {result.dataset,
          result.data,
          result.start_weights == kRandomWeights ? "" : result.start_weights,
          !result.settings.empty(),
          result.settings,
          std::move(versions),
          result.projection};
}

std::string run_name(const NetworkSpec& network) {
  constexpr std::size_t kHashLetters = 10;
  Sha256 sha;
  const auto add = [&](const std::string& text) {
    sha.update({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  add("data " + network.data + "\nweights " + network.start_weights + "\n");
  if (!network.projection.empty()) add("projection " + network.projection + "\n");
  if (network.trained) {
    for (const auto& [name, value] : network.settings) {
      if (!kMachineSettings.contains(name)) add(name + " " + value + "\n");
    }
    for (const auto& [part, version] : network.versions) add(part + " " + version + "\n");
  }
  // Without the row's name: tables share networks under different names.
  const std::string kind =
      network.trained ? value_or(network.settings, "loss.name", "trained") : "untrained";
  return network.dataset + "-" + kind + "-" + sha.hex().substr(0, kHashLetters);
}

std::string projection_of(const Row& row, const Settings& settings) {
  if (row.projection.empty()) return "";
  return row.projection + " " + value_or(merged(settings, row.settings), "model.dim", "128");
}

Row chosen_row(Row row, const ChosenRow& choice) {
  row.settings = merged(row.settings, choice.settings);
  return row;
}

Column chosen_column(Column column) {
  column.name = "test";
  column.protocol.split = EvaluationSplit::test;
  return column;
}

bool has_network(const Result& result, NetworkSpec network) {
  if (result.data.empty()) network.data.clear();  // an older result: not recorded
  return run_name(network_of(result)) == run_name(network);
}

bool has_protocol(const Result& result, const Protocol& protocol, MetricFamily metric_family) {
  const Settings now = evaluation_versions(protocol, metric_family);
  return has_metrics_and_protocol(result, protocol, metric_family) &&
         std::all_of(now.begin(), now.end(), [&](const auto& part) {
           return version_in(result.versions, part.first) == part.second;
         });
}

bool differ_only_in_seed(const Result& one, const Result& other) {
  const bool same_data = one.data.empty() || other.data.empty() || one.data == other.data;
  return same_data && one.start_weights == other.start_weights &&
         one.projection == other.projection &&
         table_settings(one.settings) == table_settings(other.settings) &&
         one.protocol == other.protocol && one.versions == other.versions;
}

bool matches_table(const Result& result, const Experiment& experiment, const Row& row,
                   const Column& column) {
  const Settings settings = row.trained ? merged(experiment.settings, row.settings) : Settings{};
  return table_settings(result.settings) == table_settings(settings) &&
         result.projection == projection_of(row, experiment.settings) &&
         has_metrics_and_protocol(result, column.protocol, experiment.metric_family);
}

}  // namespace diml::experiments
