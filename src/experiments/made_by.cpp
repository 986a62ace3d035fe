#include "made_by.h"

#include <algorithm>
#include <set>

#include "base/sha256.h"
#include "look.h"
#include "versions.h"

namespace diml::experiments {
namespace {

// Where and how fast, not what: a run may go on elsewhere.
const std::set<std::string> kOfThePlace = {"dataset.root",      "device",           "threads",
                                           "cache_mb",          "checkpoint_steps", "model.weights",
                                           "checkpoint_epochs", "measure.matcher"};

// What a table says of a training, and not who asks for it.
Settings of_table(Settings settings) {
  std::erase_if(settings, [](const auto& setting) {
    return kOfThePlace.contains(setting.first) || setting.first == "dataset.name" ||
           setting.first == "seed";
  });
  return settings;
}

// What a look could not say when the cell was made is as it was by default.
Settings whole_look(const Cell& cell) {
  Settings look = settings_of(Look{});
  for (const auto& [name, value] : cell.look) look[name] = value;
  return look;
}

bool looks_alike(const Cell& cell, const Look& look, Quantity quantity) {
  return cell.numbers.contains(quantity == Quantity::parts ? "exact" : "p_at_1") &&
         whole_look(cell) == settings_of(look);
}

}  // namespace

Network network_of(const Cell& cell) {
  Settings versions;
  for (const auto& [part, now] : training_versions(cell.settings)) {
    versions[part] = version_in(cell.versions, part);
  }
  return {cell.dataset,
          cell.data,
          cell.start_weights == kRandomWeights ? "" : cell.start_weights,
          !cell.settings.empty(),
          cell.settings,
          std::move(versions),
          cell.projection};
}

std::string run_name(const Network& network) {
  constexpr std::size_t kShort = 10;
  Sha256 sha;
  const auto add = [&](const std::string& text) {
    sha.update({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  add("data " + network.data + "\nweights " + network.start + "\n");
  if (!network.projection.empty()) add("projection " + network.projection + "\n");
  if (network.trained) {
    for (const auto& [name, value] : network.settings) {
      if (kOfThePlace.contains(name)) continue;
      for (const std::string& part : {name, std::string(" "), value, std::string("\n")}) add(part);
    }
    for (const auto& [part, version] : network.versions) add(part + " " + version + "\n");
  }
  // Not the row's name: tables have several for one network.
  const auto loss = network.settings.find("loss.name");
  const std::string kind = !network.trained                 ? "untrained"
                           : loss == network.settings.end() ? "trained"
                                                            : loss->second;
  return network.dataset + "-" + kind + "-" + sha.hex().substr(0, kShort);
}

std::string projection_of(const Row& row, const Settings& settings) {
  if (row.projection.empty()) return "";
  for (const Settings* some : {&row.settings, &settings}) {
    if (const auto dim = some->find("model.dim"); dim != some->end()) {
      return row.projection + " " + dim->second;
    }
  }
  return row.projection + " 128";
}

Row chosen_row(Row row, const Choice& choice) {
  for (const auto& [name, value] : choice.settings) row.settings[name] = value;
  return row;
}

Column chosen_column(Column column) {
  column.name = column.look.split = "test";
  return column;
}

bool is_made_with(const Cell& cell, Network network) {
  if (cell.data.empty()) network.data.clear();  // from before it was written down
  return run_name(network_of(cell)) == run_name(network);
}

bool is_seen_by(const Cell& cell, const Look& look, Quantity quantity) {
  const Settings now = look_versions(look, quantity);
  return looks_alike(cell, look, quantity) &&
         std::all_of(now.begin(), now.end(), [&](const auto& part) {
           return version_in(cell.versions, part.first) == part.second;
         });
}

bool are_alike(const Cell& one, const Cell& other) {
  const bool same_data = one.data.empty() || other.data.empty() || one.data == other.data;
  return same_data && one.start_weights == other.start_weights &&
         one.projection == other.projection && of_table(one.settings) == of_table(other.settings) &&
         whole_look(one) == whole_look(other) && one.versions == other.versions;
}

bool is_made_by(const Cell& cell, const Experiment& experiment, const Row& row,
                const Column& column) {
  Settings settings;
  if (row.trained) {
    settings = experiment.settings;
    for (const auto& [name, value] : row.settings) settings[name] = value;
  }
  return of_table(cell.settings) == of_table(settings) &&
         cell.projection == projection_of(row, experiment.settings) &&
         looks_alike(cell, column.look, experiment.quantity);
}

}  // namespace diml::experiments
