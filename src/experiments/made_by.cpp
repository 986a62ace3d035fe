#include "made_by.h"

#include <set>

#include "diml/sha256.h"
#include "look.h"

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

}  // namespace

std::string run_name(const std::string& dataset, const std::string& row, const std::string& start,
                     bool trained, const Settings& settings) {
  constexpr std::size_t kShort = 10;
  Sha256 sha;
  const auto add = [&](const std::string& text) {
    sha.update({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  add("weights " + start + "\n");
  if (trained) {
    for (const auto& [name, value] : settings) {
      if (kOfThePlace.contains(name)) continue;
      for (const std::string& part : {name, std::string(" "), value, std::string("\n")}) add(part);
    }
  }
  std::string name = dataset + "-";
  // The same network may stand in several tables under several names.
  name += !trained ? "untrained" : settings.contains("loss.name") ? settings.at("loss.name") : row;
  return name + "-" + sha.hex().substr(0, kShort);
}

std::string run_name(const Cell& cell) {
  const std::string start = cell.start_weights == kRandomWeights ? "" : cell.start_weights;
  return run_name(cell.dataset, cell.row, start, !cell.settings.empty(), cell.settings);
}

bool is_seen_by(const Cell& cell, const Look& look) {
  // What a look could not say when the cell was made is as it was by default.
  Settings seen = settings_of(Look{});
  for (const auto& [name, value] : cell.look) seen[name] = value;
  return seen == settings_of(look);
}

bool is_made_by(const Cell& cell, const Experiment& experiment, const Row& row,
                const Column& column) {
  Settings settings;
  if (row.trained) {
    settings = experiment.settings;
    for (const auto& [name, value] : row.settings) settings[name] = value;
  }
  return of_table(cell.settings) == of_table(settings) && is_seen_by(cell, column.look);
}

}  // namespace diml::experiments
