#include <yaml-cpp/yaml.h>

#include "base/input_file.h"
#include "base/setting_text.h"
#include "base/yaml_document.h"
#include "diml/error.h"
#include "train_settings.h"
#include "training/train_config.h"

namespace diml::training {
namespace {

using text::from_text;

void read(const std::string& path, const std::string& text, TrainConfig& config) {
  const YamlDocument document(path, text, "settings");
  document.each_setting(document.root(), [&](const std::string& name, const std::string& value,
                                             const YAML::Node& node) {
    if (node.IsNull() && is_group(name)) return;  // a group without settings
    try {
      set(config, name, value);
    } catch (const Error& error) {
      document.fail(node, error);
    }
  });
}

// Text that other readers would take for a number, or for true or false.
bool needs_quotes(const std::string& text) {
  double number = 0.0;
  bool truth = false;
  return from_text(text, number) || from_text(text, truth);
}

void emit_value(YAML::Emitter& out, const std::string& name, const std::string& text) {
  switch (kind_of_setting(name)) {
    case SettingKind::list: {
      std::vector<std::size_t> values;
      from_text(text, values);
      out << YAML::Flow << values;
      return;
    }
    case SettingKind::text:
      if (needs_quotes(text)) out << YAML::DoubleQuoted;
      out << text;
      return;
    case SettingKind::value:
      out << text;
      return;
  }
}

}  // namespace

void read_yaml(const std::string& path, TrainConfig& config) {
  const std::vector<std::uint8_t> bytes = read_file(path);
  TrainConfig changed = config;  // the whole file is applied, or nothing
  read(path, {bytes.begin(), bytes.end()}, changed);
  config = std::move(changed);
}

std::string to_yaml(const TrainConfig& config) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  std::string open;  // the group whose map is open
  const auto settings = settings_of(config);
  for (const auto& [name, text] : settings) {
    const std::size_t dot = name.find('.');
    const std::string group = dot == std::string::npos ? "" : name.substr(0, dot);
    if (group != open) {
      if (!open.empty()) out << YAML::EndMap;
      if (!group.empty()) out << YAML::Key << group << YAML::Value << YAML::BeginMap;
      open = group;
    }
    out << YAML::Key << (group.empty() ? name : name.substr(dot + 1)) << YAML::Value;
    emit_value(out, name, text);
  }
  if (!open.empty()) out << YAML::EndMap;
  out << YAML::EndMap;
  const std::string yaml = std::string(out.c_str()) + "\n";

  // A value that cannot be read back (an infinity, say) must not be written.
  TrainConfig again;
  read("settings", yaml, again);
  const auto back = settings_of(again);
  for (std::size_t s = 0; s < settings.size(); ++s) {
    if (s >= back.size() || back[s] != settings[s]) {
      throw Error(settings[s].first + " cannot be written to a file: use a value of plain text");
    }
  }
  return yaml;
}

}  // namespace diml::training
