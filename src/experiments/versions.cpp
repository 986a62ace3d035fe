#include "versions.h"

#include <set>

#include "look.h"

namespace diml::experiments {
namespace {

struct Part {
  const char* name;
  int version;
  const char* change;  // what the version brought
};

constexpr const char* kFirst = "1";

// How training goes, but for what has a part of its own: photos, sampling, steps, the losses.
constexpr Part kTraining = {"training", 1, ""};
constexpr Part kProjection = {"projection", 2, "begins as PyTorch's linear layers do"};
constexpr Part kProxies = {"proxies", 2, "class vectors begin as the authors' do"};
// From a photo to its grid.
constexpr Part kGrids = {"grids", 1, ""};
constexpr Part kMatching = {"matching", 1, ""};
constexpr Part kCut = {"cut", 2, "keeps duplicates, as the authors' script does"};
constexpr Part kParts = {"parts", 1, ""};

const std::set<std::string> kWithOwnProxies = {"softmax", "arcface", "proxynca"};

std::vector<Part> parts_of_training(const Settings& settings) {
  if (settings.empty()) return {};
  std::vector<Part> parts = {kTraining, kProjection};
  const auto loss = settings.find("loss.name");
  if (loss != settings.end() && kWithOwnProxies.contains(loss->second)) parts.push_back(kProxies);
  return parts;
}

std::vector<Part> parts_of_look(const Look& look, Quantity quantity) {
  if (quantity == Quantity::parts) return {kGrids, kMatching, kParts};
  std::vector<Part> parts = {kGrids};
  if (look.rerank > 0) parts.push_back(kMatching);
  if (look.cut_from > 0) parts.push_back(kCut);
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

Settings look_versions(const Look& look, Quantity quantity) {
  return versions_of(parts_of_look(look, quantity));
}

std::string version_in(const Settings& versions, const std::string& part) {
  const auto found = versions.find(part);
  return found == versions.end() ? kFirst : found->second;
}

std::vector<std::string> stale_parts(const Cell& cell, Quantity quantity) {
  Look look;
  for (const auto& [name, value] : cell.look) set(look, name, value);
  std::vector<Part> parts = parts_of_training(cell.settings);
  for (const Part& part : parts_of_look(look, quantity)) parts.push_back(part);
  std::vector<std::string> stale;
  for (const Part& part : parts) {
    const std::string made = version_in(cell.versions, part.name);
    const std::string now = std::to_string(part.version);
    if (made == now) continue;
    stale.push_back(std::string(part.name) + " " + made + ", now " + now + " (" + part.change +
                    ")");
  }
  return stale;
}

}  // namespace diml::experiments
