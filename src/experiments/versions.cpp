#include "versions.h"

#include <set>

namespace diml::experiments {
namespace {

struct Part {
  const char* name;
  int version;
  const char* change;  // in this version
};

// Photos, sampling, steps, losses: everything about training that has no part of its own below.
constexpr Part kTraining = {"training", 1, ""};
constexpr Part kProjection = {"projection", 2, "initialised like PyTorch's linear layers"};
constexpr Part kProxies = {"proxies", 2, "class vectors initialised like the authors'"};
// From a photo to its grid.
constexpr Part kGrids = {"grids", 1, ""};
constexpr Part kMatching = {"matching", 1, ""};
constexpr Part kCut = {"cut", 2, "keeps duplicates, as the authors' script does"};
constexpr Part kParts = {"parts", 1, ""};
constexpr Part kCalibration = {"calibration", 1, ""};

const std::set<std::string> kLossesWithClassVectors = {"softmax", "arcface", "proxynca"};

std::vector<Part> parts_of_training(const Settings& settings) {
  if (settings.empty()) return {};
  std::vector<Part> parts = {kTraining, kProjection};
  if (kLossesWithClassVectors.contains(value_or(settings, "loss.name"))) parts.push_back(kProxies);
  return parts;
}

std::vector<Part> parts_of_evaluation(const Protocol& protocol, MetricFamily metric_family) {
  if (metric_family == MetricFamily::parts) return {kGrids, kMatching, kParts};
  std::vector<Part> parts = {kGrids};
  if (protocol.rerank > 0) parts.push_back(kMatching);
  if (protocol.cut_from > 0) parts.push_back(kCut);
  if (!protocol.setting.empty()) parts.push_back(kCalibration);
  return parts;
}

Settings versions_of(const std::vector<Part>& parts) {
  Settings versions;
  for (const Part& part : parts) versions[part.name] = std::to_string(part.version);
  return versions;
}

}  // namespace

Settings training_versions(const Settings& settings) {
  return versions_of(parts_of_training(settings));
}

Settings evaluation_versions(const Protocol& protocol, MetricFamily metric_family) {
  return versions_of(parts_of_evaluation(protocol, metric_family));
}

std::string version_in(const Settings& versions, const std::string& part) {
  return value_or(versions, part, "1");
}

std::vector<std::string> stale_parts(const Result& result, MetricFamily metric_family) {
  std::vector<Part> parts = parts_of_training(result.settings);
  for (const Part& part : parts_of_evaluation(result.protocol, metric_family)) {
    parts.push_back(part);
  }
  std::vector<std::string> stale;
  for (const Part& part : parts) {
    const std::string made = version_in(result.versions, part.name);
    const std::string now = std::to_string(part.version);
    if (made == now) continue;
    stale.push_back(part.name + (" " + made) + ", now " + now + " (" + part.change + ")");
  }
  return stale;
}

}  // namespace diml::experiments
