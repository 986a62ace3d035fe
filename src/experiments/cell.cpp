#include <filesystem>

#include <nlohmann/json.hpp>

#include "diml/error.h"
#include "diml/experiments.h"
#include "diml/input_file.h"
#include "diml/output_file.h"

namespace diml::experiments {
namespace {

// Kept in the order in which people read them.
using Json = nlohmann::ordered_json;

// "Triplet-R, D = 64" is a fine name in a table and none for a file.
std::string file_name(const std::string& name) {
  std::string result;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool capital = c >= 'A' && c <= 'Z';
    if (plain || capital) {
      result += capital ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!result.empty() && result.back() != '_') {
      result += '_';
    }
  }
  while (result.ends_with('_')) result.pop_back();
  return result;
}

}  // namespace

std::string cell_path(const std::string& folder, const std::string& dataset,
                      const std::string& experiment, const std::string& row,
                      const std::string& column, const std::string& other_seed) {
  return folder + "/" + dataset + "/" + experiment + "/" + file_name(row) + "." +
         file_name(column) + (other_seed.empty() ? "" : ".seed_" + file_name(other_seed)) + ".json";
}

std::string curve_path(const std::string& folder, const std::string& run) {
  return folder + "/curves/" + run + ".jsonl";
}

void write_cell(const std::string& path, const Cell& cell) {
  Json json = {{"experiment", cell.experiment},
               {"dataset", cell.dataset},
               {"row", cell.row},
               {"column", cell.column},
               {"numbers", cell.numbers},
               {"images", cell.images},
               {"look", cell.look},
               {"weights", cell.weights},
               {"start_weights", cell.start_weights},
               {"commit", cell.commit},
               {"hardware", cell.hardware},
               {"seconds", {{"train", cell.train_seconds}, {"look", cell.look_seconds}}}};
  if (!cell.settings.empty()) {
    json["seed"] = cell.seed;
    json["epochs"] = cell.epochs;
    json["epoch"] = cell.epoch;
    json["settings"] = cell.settings;
  }
  if (!cell.projection.empty()) json["projection"] = cell.projection;
  if (!cell.versions.empty()) json["versions"] = cell.versions;
  if (!cell.precision.empty()) json["precision"] = cell.precision;
  if (!cell.data.empty()) json["data"] = cell.data;
  if (!cell.chosen.empty()) json["chosen"] = cell.chosen;
  make_folder(std::filesystem::path(path).parent_path().string());
  OutputFile file(path);
  file.write(json.dump(2) + "\n");
  file.commit();
}

Cell read_cell(const std::string& path) {
  const std::vector<std::uint8_t> bytes = read_file(path);
  try {
    const Json json = Json::parse(bytes.begin(), bytes.end());
    Cell cell;
    json.at("experiment").get_to(cell.experiment);
    json.at("dataset").get_to(cell.dataset);
    json.at("row").get_to(cell.row);
    json.at("column").get_to(cell.column);
    json.at("numbers").get_to(cell.numbers);
    json.at("images").get_to(cell.images);
    json.at("look").get_to(cell.look);
    json.at("weights").get_to(cell.weights);
    json.at("start_weights").get_to(cell.start_weights);
    json.at("commit").get_to(cell.commit);
    json.at("hardware").get_to(cell.hardware);
    json.at("seconds").at("train").get_to(cell.train_seconds);
    json.at("seconds").at("look").get_to(cell.look_seconds);
    if (json.contains("settings")) {
      json.at("seed").get_to(cell.seed);
      json.at("epochs").get_to(cell.epochs);
      json.at("epoch").get_to(cell.epoch);
      json.at("settings").get_to(cell.settings);
    }
    cell.projection = json.value("projection", "");
    if (json.contains("versions")) json.at("versions").get_to(cell.versions);
    cell.precision = json.value("precision", "");
    cell.data = json.value("data", "");
    cell.chosen = json.value("chosen", "");
    return cell;
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::damaged,
                path + ": is no result of 'diml experiments run', remove it: " + error.what());
  }
}

}  // namespace diml::experiments
