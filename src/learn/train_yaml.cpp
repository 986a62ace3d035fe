#include <set>

#include <yaml-cpp/yaml.h>

#include "diml/error.h"
#include "diml/input_file.h"
#include "diml/learn/train_config.h"
#include "setting_text.h"
#include "train_settings.h"

namespace diml::learn {
namespace {

constexpr int kDeepest = 8;  // a map may hold itself through an alias

// Takes a document apart into names with dots.
class Reader {
 public:
  Reader(std::string path, TrainConfig& config) : path_(std::move(path)), config_(config) {}

  void read(const std::string& text) {
    try {
      const std::vector<YAML::Node> documents = YAML::LoadAll(text);
      if (documents.size() > 1) fail(documents[1].Mark(), "a second document: settings are one");
      if (documents.empty() || documents[0].IsNull()) return;
      if (!documents[0].IsMap()) {
        fail(documents[0].Mark(), "is no map: write one setting a line, as in 'epochs: 150'");
      }
      take(documents[0], "", 0);
    } catch (const YAML::Exception& error) {
      fail(error.mark, "is no YAML: " + error.msg);
    }
  }

 private:
  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& what) const {
    throw Error(path_ + (mark.is_null() ? "" : ":" + std::to_string(mark.line + 1)) + ": " + what);
  }

  void take(const YAML::Node& node, const std::string& name, int depth) {
    if (depth > kDeepest) fail(node.Mark(), "maps within maps within maps: settings have one dot");
    if (node.IsMap()) {
      for (const auto& entry : node) {
        if (!entry.first.IsScalar()) fail(entry.first.Mark(), "a setting's name is a word");
        const std::string& key = entry.first.Scalar();
        take(entry.second, name.empty() ? key : name + "." + key, depth + 1);
      }
      return;
    }
    if (node.IsNull() && is_group(name)) return;  // a heading over nothing
    if (!seen_.insert(name).second) fail(node.Mark(), name + " is set twice: leave one of them");
    try {
      set(config_, name, text_of(node, name));
    } catch (const Error& error) {
      fail(node.Mark(), error.what());
    }
  }

  std::string text_of(const YAML::Node& node, const std::string& name) const {
    if (!node.IsSequence()) return node.IsNull() ? "" : node.Scalar();
    std::string text;
    for (const YAML::Node& one : node) {
      if (!one.IsScalar()) fail(one.Mark(), name + " takes a list of plain values");
      text += (text.empty() ? "" : ",") + one.Scalar();
    }
    return text;
  }

  std::string path_;
  TrainConfig& config_;
  std::set<std::string> seen_;
};

// Text that others would take for a number, or for true or false.
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
  TrainConfig changed = config;  // all of the file or nothing of it
  Reader(path, changed).read({bytes.begin(), bytes.end()});
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

  // What cannot be brought back (an infinity, say) must not look as if it could.
  TrainConfig again;
  Reader("settings", again).read(yaml);
  const auto back = settings_of(again);
  for (std::size_t s = 0; s < settings.size(); ++s) {
    if (s >= back.size() || back[s] != settings[s]) {
      throw Error(settings[s].first + " cannot be written to a file: take a value of plain text");
    }
  }
  return yaml;
}

}  // namespace diml::learn
