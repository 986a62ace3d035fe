#include <nlohmann/json.hpp>

#include "diml/error.h"
#include "experiments/experiments.h"
#include "protocol.h"
#include "search/name_json.h"
#include "text_file.h"

namespace diml::experiments {
namespace {

// Keeps the order of the fields.
using Json = nlohmann::ordered_json;

// "Triplet-R, D = 64" becomes triplet_r_d_64.
std::string file_name(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool capital = c >= 'A' && c <= 'Z';
    if (plain || capital) {
      text += capital ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!text.empty() && text.back() != '_') {
      text += '_';
    }
  }
  while (text.ends_with('_')) text.pop_back();
  return text;
}

// The fields of the file by JSON pointer, in its order, for reading and writing.
template <typename AnyResult, typename Required, typename Has>
void visit(AnyResult& result, const Required& required, const Has& has) {
  const auto optional = [&](const char* path, auto& value) {
    if (has(path, value)) required(path, value);
  };
  required("/experiment", result.experiment);
  required("/dataset", result.dataset);
  required("/row", result.row);
  required("/column", result.column);
  required("/numbers", result.metrics);
  required("/images", result.images);
  required("/look", result.protocol);
  required("/weights", result.weights);
  required("/start_weights", result.start_weights);
  required("/commit", result.commit);
  required("/hardware", result.hardware);
  required("/seconds/train", result.train_seconds);
  required("/seconds/look", result.evaluate_seconds);
  if (has("/settings", result.settings)) {
    required("/seed", result.seed);
    required("/epochs", result.epochs);
    required("/epoch", result.epoch);
    required("/settings", result.settings);
  }
  optional("/projection", result.projection);
  optional("/versions", result.versions);
  optional("/precision", result.precision);
  optional("/data", result.data);
  optional("/chosen", result.chosen);
}

}  // namespace

// Found by the JSON library through the namespace of Protocol.
static void to_json(Json& json, const Protocol& protocol) { json = settings_of(protocol); }
static void from_json(const Json& json, Protocol& protocol) {
  protocol = protocol_from(json.get<Settings>());
}

std::string result_path(const std::string& folder, const std::string& dataset,
                        const std::string& experiment, const std::string& row,
                        const std::string& column, const std::string& other_seed) {
  return folder + "/" + dataset + "/" + experiment + "/" + file_name(row) + "." +
         file_name(column) + (other_seed.empty() ? "" : ".seed_" + file_name(other_seed)) + ".json";
}

std::string curve_path(const std::string& folder, const std::string& run) {
  return folder + "/curves/" + run + ".jsonl";
}

void write_result(const std::string& path, const Result& result) {
  Json json;
  visit(
      result, [&](const char* name, const auto& value) { json[Json::json_pointer(name)] = value; },
      [](const char* /*name*/, const auto& value) { return !value.empty(); });
  write_text(path, text_of_json(json, 2) + "\n");
}

Result read_result(const std::string& path) {
  const std::string text = read_text(path);
  const std::string context = path + ": is not a result of an experiment, remove it: ";
  try {
    const Json json = Json::parse(text);
    Result result;
    visit(
        result,
        [&](const char* name, auto& value) { json.at(Json::json_pointer(name)).get_to(value); },
        [&](const char* name, const auto&) { return json.contains(Json::json_pointer(name)); });
    return result;
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::damaged, context + error.what());
  } catch (const Error& error) {
    throw with_context(error, context);
  }
}

}  // namespace diml::experiments
